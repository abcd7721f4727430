//! Files that need each other: strongly connected components, by Tarjan's algorithm.

use std::collections::BTreeSet;

/// The circles of a graph, largest first, each sorted; a single node is none.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeSet;
/// let edges = [vec![1], vec![2], vec![0, 3], vec![]].map(BTreeSet::from_iter);
/// assert_eq!(tidy::circles::circles(&edges), [[0, 1, 2]]);
/// ```
pub fn circles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        next: 0,
        index: vec![None; edges.len()],
        low: vec![0; edges.len()],
        stack: Vec::new(),
        found: Vec::new(),
    };
    for node in 0..edges.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    search.found
}

struct Search<'a> {
    edges: &'a [BTreeSet<usize>],
    next: usize,
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Recursion as deep as the longest chain of imports, a few hundred at most.
    fn visit(&mut self, node: usize) {
        let index = self.next;
        self.next += 1;
        (self.index[node], self.low[node]) = (Some(index), index);
        self.stack.push(node);
        for &to in &self.edges[node] {
            match self.index[to] {
                None => {
                    self.visit(to);
                    self.low[node] = self.low[node].min(self.low[to]);
                }
                Some(index) if self.stack.contains(&to) => {
                    self.low[node] = self.low[node].min(index);
                }
                Some(_) => {}
            }
        }
        if self.low[node] == index {
            let start = self.stack.iter().position(|&other| other == node).unwrap_or(0);
            let mut circle = self.stack.split_off(start);
            circle.sort_unstable();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }
}
