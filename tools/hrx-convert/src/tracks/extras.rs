//! What the outputs for viewers show besides the regions. Each extra can be switched off.

use clap::Args;

/// The switches.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "In viewers")]
pub struct Extras {
    /// Without the copy rate of each lane
    #[arg(long)]
    pub no_counters: bool,

    /// Without arrows between regions of one correlation id
    #[arg(long)]
    pub no_flows: bool,

    /// Without the marks that say where the capture begins, what it lost and how it ended
    #[arg(long)]
    pub no_marks: bool,

    /// Without a separate colour for failed regions
    #[arg(long)]
    pub no_colors: bool,
}
