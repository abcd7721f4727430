//! Native files, damaged.
