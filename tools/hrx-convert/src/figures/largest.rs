//! The largest of any number of items.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Keeps the item if it is among the `count_max` largest so far. The smallest of them is on top of the heap.
pub fn keep_largest<T: Ord>(heap: &mut BinaryHeap<Reverse<T>>, count_max: usize, item: T) {
    if heap.len() < count_max {
        heap.push(Reverse(item));
    } else if let Some(mut least) = heap.peek_mut()
        && item > least.0
    {
        *least = Reverse(item);
    }
}
