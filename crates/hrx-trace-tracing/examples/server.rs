//! A server whose requests are in its capture, whatever it dies of: axum, with the middleware that most have, and one line for the layer.
//!
//! ```text
//! cargo run --example server -- run.hrxt
//! curl http://127.0.0.1:PORT/orders/7    # the port is printed
//! kill -9 …; hrx-convert --summary run.hrxt
//! ```
//!
//! `/orders/{id}` waits for what a database would answer; `/report/{id}` computes for as long, on the thread that serves it.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use hrx_trace::Options;
use tower_http::trace::{DefaultMakeSpan, TraceLayer};
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: server FILE")?;
    let recorder = Arc::new(
        Options::new(200_000)
            .open_regions(8_192)
            .finish_at_exit(true)
            .create(path)?,
    );
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::registry()
        .with(hrx_trace_tracing::layer(recorder).with_filter(filter))
        .init();

    let requests =
        TraceLayer::new_for_http().make_span_with(DefaultMakeSpan::new().level(Level::INFO));
    let routes = Router::new()
        .route("/orders/{id}", get(order))
        .route("/report/{id}", get(report))
        .layer(requests);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    axum::serve(listener, routes).await?;
    Ok(())
}

/// Answers after `id` milliseconds, in which it waits.
async fn order(Path(id): Path<u64>) -> String {
    database(id).await;
    format!("order {id}\n")
}

#[tracing::instrument]
async fn database(id: u64) {
    tokio::time::sleep(Duration::from_millis(id)).await;
}

/// Answers after `id` milliseconds, in which it computes.
async fn report(Path(id): Path<u64>) -> String {
    let end = Instant::now() + Duration::from_millis(id);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    format!("report {id}\n")
}
