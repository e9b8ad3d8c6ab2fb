// SPDX-License-Identifier: Apache-2.0
// Queries of git-vdb in one process, points cached: gitvdb_warm REPO NAME QUERIES (a JSON array a line)
// Prints the microseconds of each query, one JSON line a mode; the first round does not count.
use git_vdb::{Database, Query};
use std::time::Instant;

fn main() -> git_vdb::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let collection = Database::open(&args[1])?.collection(&args[2])?;
    let queries: Vec<Vec<f32>> = std::fs::read_to_string(&args[3])?
        .lines()
        .map(|l| l.trim().trim_matches(|c| c == '[' || c == ']').split(',').map(|x| x.trim().parse().unwrap()).collect())
        .collect();
    for exact in [true, false] {
        let mut micros = vec![];
        for round in 0..6 {
            for q in &queries {
                let start = Instant::now();
                let mut query = Query::new(q.clone(), 10);
                query.params.exact = Some(exact);
                std::hint::black_box(collection.query(query)?);
                if round > 0 {
                    micros.push(start.elapsed().as_nanos() as f64 / 1000.0);
                }
            }
        }
        println!("{{\"mode\":\"{}\",\"us\":{:?}}}", if exact { "exact" } else { "approximate" }, micros);
    }
    Ok(())
}
