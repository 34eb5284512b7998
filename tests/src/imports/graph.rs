//! A directed graph: which node imports which, and which do so in a circle.

use std::collections::BTreeSet;

/// `reaches[a]` holds each node that `a` imports, directly or by way of others.
#[derive(Debug)]
pub struct Graph {
    reaches: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// A graph of `nodes` nodes. Edges from a node to itself are left out.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut imports = vec![BTreeSet::new(); nodes];
        for (from, to) in edges {
            if from != to {
                imports[from].insert(to);
            }
        }
        let reaches = (0..nodes)
            .map(|node| reached_from(node, &imports))
            .collect();
        Self { reaches }
    }

    /// Each set of nodes that import each other, directly or by way of others.
    pub fn circles(&self) -> Vec<BTreeSet<usize>> {
        let mut circles = Vec::new();
        for node in 0..self.reaches.len() {
            let circle: BTreeSet<usize> = self.reaches[node]
                .iter()
                .copied()
                .filter(|&other| self.reaches[other].contains(&node))
                .collect();
            // Listed once, at its first node. A node in no circle does not reach itself, and its set is empty.
            if circle.first() == Some(&node) {
                circles.push(circle);
            }
        }
        circles
    }

    /// How many nodes `node` stands on. Sorted by height, the largest first, users come before what they use, except in circles.
    pub fn height(&self, node: usize) -> usize {
        self.reaches[node].len()
    }
}

fn reached_from(node: usize, imports: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<usize> = imports[node].iter().copied().collect();
    while let Some(node) = next.pop() {
        if reached.insert(node) {
            next.extend(&imports[node]);
        }
    }
    reached
}
