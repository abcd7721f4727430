//! The database: a table of products in `PostgreSQL`, which counts its reads itself.

use mayhap_redis::guard::Loader;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_postgres::{Client, Error, NoTls, Statement};

const CONNECTIONS: usize = 4;

/// A table `products` of `rows` rows; cheap to clone.
#[derive(Clone)]
pub(crate) struct Shop {
    lines: Arc<Vec<(Client, Statement)>>,
    next: Arc<AtomicUsize>,
    rows: u32,
}

/// The name of row `i`.
pub(crate) fn sku(i: u32) -> String {
    format!("product-{i}")
}

/// The contents of row `i`; `generate_series` writes the same.
pub(crate) fn title(i: u32) -> String {
    format!("The {i}th thing that nobody needs")
}

impl Shop {
    pub(crate) async fn open(url: &str, rows: u32) -> Result<Self, Error> {
        let fill = format!(
            "CREATE TABLE products (sku text PRIMARY KEY, title text NOT NULL);
             INSERT INTO products SELECT 'product-' || i,
                 'The ' || i || 'th thing that nobody needs'
             FROM generate_series(0, {rows} - 1) AS i;
             ANALYZE products"
        );
        connect(url).await?.batch_execute(&fill).await?;
        let mut lines = Vec::new();
        for _ in 0..CONNECTIONS {
            let client = connect(url).await?;
            let select = client.prepare("SELECT title FROM products WHERE sku = $1").await?;
            lines.push((client, select));
        }
        Ok(Self { lines: Arc::new(lines), next: Arc::default(), rows })
    }

    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// The number of reads of the table, as the server reports it.
    pub(crate) async fn reads(&self) -> Result<i64, Error> {
        for (client, _) in &*self.lines {
            // Each server process counts for itself, and reports when it becomes idle; the second
            // statement begins after that.
            client.batch_execute("SELECT pg_stat_force_next_flush()").await?;
            client.batch_execute("SELECT").await?;
        }
        let count =
            "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'products'";
        Ok(self.lines[0].0.query_one(count, &[]).await?.get(0))
    }
}

async fn connect(url: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

impl Loader for Shop {
    type Error = Error;

    async fn load(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        // All texts of the database are UTF-8.
        let Ok(sku) = String::from_utf8(key) else { return Ok(None) };
        let line = self.next.fetch_add(1, Ordering::Relaxed) % self.lines.len();
        let (client, select) = &self.lines[line];
        let row = client.query_opt(select, &[&sku]).await?;
        Ok(row.map(|row| row.get::<_, String>(0).into_bytes()))
    }
}
