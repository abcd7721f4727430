//! The files of the page, which are in the program.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its path at the server.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Its content security policy, where that of all answers is too narrow.
    pub policy: Option<&'static str>,
}

impl IntoResponse for File {
    fn into_response(self) -> Response {
        let mut response = ([(header::CONTENT_TYPE, self.kind)], self.text).into_response();
        if let Some(policy) = self.policy {
            let policy = HeaderValue::from_static(policy);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

/// The explorer's policy is in the page: hashes of its scripts. Here is what no page can say.
#[cfg(feature = "explorer")]
const EXPLORER_POLICY: &str = "frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All of them.
///
/// ```
/// let page = mayhap_dashboard::files::FILES.iter().find(|file| file.path == "/ui").unwrap();
/// assert!(page.text.contains("/ui/main.js"));
/// ```
pub static FILES: &[File] = &[
    file("/ui", "text/html; charset=utf-8", include_str!("page/page.html")),
    file("/ui/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    file("/ui/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    file("/ui/main.js", SCRIPT, include_str!("page/main.js")),
    file("/ui/chart.js", SCRIPT, include_str!("page/chart.js")),
    file("/ui/filter.js", SCRIPT, include_str!("page/filter.js")),
    file("/ui/first.js", SCRIPT, include_str!("page/first.js")),
    file("/ui/stream.js", SCRIPT, include_str!("page/stream.js")),
    file("/ui/table.js", SCRIPT, include_str!("page/table.js")),
    file("/ui/views.js", SCRIPT, include_str!("page/views.js")),
    file("/ui/text.js", SCRIPT, include_str!("page/text.js")),
    file("/ui/worker.js", SCRIPT, include_str!("page/worker.js")),
    #[cfg(feature = "explorer")]
    File {
        policy: Some(EXPLORER_POLICY),
        ..file("/explorer", "text/html; charset=utf-8", include_str!(env!("MAYHAP_EXPLORER")))
    },
];

const fn file(path: &'static str, kind: &'static str, text: &'static str) -> File {
    File { path, kind, text, policy: None }
}
