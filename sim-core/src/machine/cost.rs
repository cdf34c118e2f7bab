//! Machine profiles: every hardware cost, named, with unit, meaning and a range that makes sense.
//!
//! No cost is written at its point of use. The values come from a profile file (read by the
//! `scenarios` crate), where each has its source; here is what they mean.

/// Instruction set of a machine; decides what barriers and atomics do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// x86-64: stores FIFO, locked operations drain, `smp_wmb` free.
    X86_64,
    /// arm64 with LSE: stores to different lines drain in any order, relaxed atomics posted.
    Arm64,
}

/// Memory model of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryModel {
    /// Total store order: a FIFO store buffer a CPU.
    Tso,
    /// Stores to different lines may become visible out of order (loads are never early in timed runs).
    Weak,
    /// Sequentially consistent.
    Sc,
}

/// Shape of a machine: each number counts the parts in one part of the level above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopologySpec {
    /// Sockets.
    pub sockets: u16,
    /// Dies in a socket.
    pub dies: u16,
    /// Clusters (cores that share an L3 slice or tag directory) in a die.
    pub clusters: u16,
    /// Cores in a cluster.
    pub cores: u16,
    /// Hardware threads in a core.
    pub smt: u16,
}

impl TopologySpec {
    /// Number of logical CPUs.
    pub fn cpus(&self) -> u32 {
        [self.sockets, self.dies, self.clusters, self.cores, self.smt]
            .iter()
            .map(|&n| u32::from(n))
            .product()
    }
}

macro_rules! params {
    ($(#[doc = $doc:literal] $id:ident $name:literal $unit:ident $min:literal..=$max:literal),* $(,)?) => {
        /// A named hardware cost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(usize)]
        pub enum Param { $(#[doc = $doc] $id),* }

        impl Param {
            /// All parameters, in the order of their numbers.
            pub const ALL: &'static [Param] = &[$(Param::$id),*];

            /// Name in profile files.
            pub fn name(self) -> &'static str {
                match self { $(Param::$id => $name),* }
            }

            /// Unit of the value.
            pub fn unit(self) -> Unit {
                match self { $(Param::$id => Unit::$unit),* }
            }

            /// Smallest and largest value that is accepted, in the unit's base.
            pub fn range(self) -> (u64, u64) {
                match self { $(Param::$id => ($min, $max)),* }
            }

            /// What the parameter means.
            pub fn doc(self) -> &'static str {
                match self { $(Param::$id => $doc.trim_ascii()),* }
            }
        }
    };
}

/// Unit of a [`Param`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time, kept in picoseconds.
    Time,
    /// Thousandths.
    Permille,
    /// Instructions a microsecond.
    InsnsPerUs,
    /// Instructions.
    Insns,
}

params! {
    /// Instructions (as counted on x86-64 in the kernel cost table) retired in a microsecond when no access misses.
    InsnsPerUs "insns_per_us" InsnsPerUs 10..=1_000_000_000,
    /// How much of a plain load's miss runs under later instructions (out-of-order window as a time credit).
    Hide "hide" Time 0..=1_000_000,
    /// Line transfer between cores of one cluster, without the atomic that may follow.
    TransferCluster "transfer_cluster" Time 0..=10_000_000,
    /// Line transfer between clusters of one die.
    TransferDie "transfer_die" Time 0..=10_000_000,
    /// Line transfer between dies of one socket.
    TransferSocket "transfer_socket" Time 0..=10_000_000,
    /// Line transfer between sockets.
    TransferRemote "transfer_remote" Time 0..=10_000_000,
    /// Load from memory or last-level cache of a line that no core holds.
    Memory "memory" Time 0..=10_000_000,
    /// Atomic read-modify-write on a line that is held exclusively (LOCK prefix, LSE).
    Rmw "rmw" Time 0..=1_000_000,
    /// this_cpu_add and the slab's this_cpu_cmpxchg_double on a local line.
    ThisCpu "this_cpu" Time 0..=1_000_000,
    /// Full barrier, besides the wait for the store buffer.
    Mb "mb" Time 0..=1_000_000,
    /// Store barrier, besides the wait for the store buffer where the architecture has one.
    Wmb "wmb" Time 0..=1_000_000,
    /// From the write that ends a spin to the waiter's re-read: WFE wake-up, or what is left of a PAUSE.
    SpinWake "spin_wake" Time 0..=10_000_000,
    /// One iteration of a spin loop (for retired instructions and SMT).
    SpinLoop "spin_loop" Time 0..=10_000_000,
    /// Instructions in one iteration of a spin loop.
    SpinInsns "spin_insns" Insns 0..=100,
    /// Refilling the pipeline after the mispredicted branch that ends a spin.
    SpinExit "spin_exit" Time 0..=1_000_000,
    /// local_irq_save and local_irq_restore together; both wait for the store buffer.
    IrqSave "irq_save" Time 0..=1_000_000,
    /// One clock cycle, to count cycles; 0 if it is not known.
    Cycle "cycle" Time 0..=1_000_000,
    /// Reading the clock source, besides its instructions.
    ClockRead "clock_read" Time 0..=10_000_000,
    /// Uncached write to a device register (doorbell), as seen by the CPU.
    Mmio "mmio_write" Time 0..=10_000_000,
    /// Copying one byte between warm buffers (from a user's to the kernel's, with or without a checksum).
    CopyByte "copy_byte" Time 0..=100_000,
    /// Copying, or summing, one byte that this CPU wrote a moment ago: from its second-level cache.
    CopyWarm "copy_warm" Time 0..=100_000,
    /// Line misses in flight at once when cold memory is copied.
    Mlp "mlp" Permille 1000..=32_000,
    /// Extra cost of an indirect call (retpoline, or a late-resolved branch).
    IndirectCall "indirect_call" Time 0..=1_000_000,
    /// Hardware part of taking and leaving an interrupt.
    IrqEntry "irq_entry" Time 0..=10_000_000,
    /// Switching tasks, besides its instructions (registers, lost cache state).
    ContextSwitch "context_switch" Time 0..=100_000_000,
    /// First touch of a line that a device wrote by DMA (DDIO: LLC hit, else memory).
    DmaLine "dma_line" Time 0..=10_000_000,
    /// Share of a transfer during which the old owner still hits.
    Hold "hold" Permille 0..=1000,
    /// Work is stretched or shrunk by a uniform draw of up to this much, a new one each chunk.
    Jitter "jitter" Permille 0..=900,
    /// Instructions that share one draw of the jitter.
    JitterChunk "jitter_chunk" Insns 1..=1_000_000,
    /// Each workload thread starts at a uniform draw below this.
    StartSpread "start_spread" Time 0..=1_000_000_000,
    /// Throughput of a core with both SMT threads busy, against one alone.
    SmtGain "smt_gain" Permille 1000..=2000,
}

/// One machine: shape, architecture and costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name of the profile.
    pub name: String,
    /// Instruction set.
    pub arch: Arch,
    /// Memory model.
    pub memory: MemoryModel,
    /// Off: plain stores wait for their line and are visible at once.
    pub store_buffer: bool,
    /// Shape.
    pub topology: TopologySpec,
    /// Value of each [`Param`], indexed by its number.
    pub values: Vec<u64>,
}

impl Profile {
    /// A machine of `cores` cores in one cluster with round costs and no chance: a thousand instructions
    /// a microsecond, 40 ns to a neighbour's line, 80 ns to memory, 5 ns an atomic. For examples and tests;
    /// it is nobody's machine.
    pub fn round(arch: Arch, cores: u16) -> Profile {
        let mut values = vec![0; Param::ALL.len()];
        for (param, value) in [
            (Param::InsnsPerUs, 1000),
            (Param::TransferCluster, 40_000),
            (Param::TransferDie, 40_000),
            (Param::TransferSocket, 40_000),
            (Param::TransferRemote, 40_000),
            (Param::Memory, 80_000),
            (Param::Rmw, 5_000),
            (Param::Mb, 10_000),
            (Param::SpinLoop, 5_000),
            (Param::IrqEntry, 100_000),
            (Param::ContextSwitch, 500_000),
            (Param::JitterChunk, 1),
            (Param::SmtGain, 1300),
            (Param::CopyByte, 250),
            (Param::CopyWarm, 250),
            (Param::Mlp, 2000),
        ] {
            values[param as usize] = value;
        }
        let memory = if arch == Arch::Arm64 {
            MemoryModel::Weak
        } else {
            MemoryModel::Tso
        };
        let topology = TopologySpec {
            sockets: 1,
            dies: 1,
            clusters: 1,
            cores,
            smt: 1,
        };
        Profile {
            name: "round".to_owned(),
            arch,
            memory,
            store_buffer: true,
            topology,
            values,
        }
    }

    /// The value of `param` in its base unit (picoseconds, permille, instructions).
    pub fn get(&self, param: Param) -> u64 {
        self.values[param as usize]
    }

    /// Replaces one value.
    pub fn set(&mut self, param: Param, value: u64) {
        self.values[param as usize] = value;
    }
}
