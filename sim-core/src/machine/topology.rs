//! Which CPUs are near to which: threads, cores, clusters, dies, sockets.

use super::cost::TopologySpec;
use petgraph::algo::dijkstra;
use petgraph::graph::{NodeIndex, UnGraph};

/// Largest number of logical CPUs of a machine.
pub const MAX_CPUS: usize = 256;

/// A set of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CoreSet([u64; MAX_CPUS / 64]);

impl CoreSet {
    /// The set that holds `core` alone.
    #[inline(always)]
    pub fn only(core: u16) -> CoreSet {
        let mut set = CoreSet::default();
        set.insert(core);
        set
    }
    /// Whether `core` is in the set.
    #[inline(always)]
    pub fn has(&self, core: u16) -> bool {
        self.0[usize::from(core >> 6)] >> (core & 63) & 1 == 1
    }
    /// Adds `core`.
    #[inline(always)]
    pub fn insert(&mut self, core: u16) {
        self.0[usize::from(core >> 6)] |= 1 << (core & 63);
    }
    /// Whether the set is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&w| w == 0)
    }
    /// Whether it has a member in `other`.
    #[inline(always)]
    pub fn meets(&self, other: &CoreSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
    /// Whether it has a member outside `other`.
    #[inline(always)]
    pub fn leaves(&self, other: &CoreSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & !b != 0)
    }
    /// Removes `core`.
    #[inline(always)]
    pub fn without(mut self, core: u16) -> CoreSet {
        self.0[usize::from(core >> 6)] &= !(1 << (core & 63));
        self
    }
}

/// How far apart two cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Distance {
    /// One core (its threads share the first-level cache).
    Core = 0,
    /// One cluster.
    Cluster = 1,
    /// One die, different clusters.
    Die = 2,
    /// One socket, different dies.
    Socket = 3,
    /// Different sockets.
    Remote = 4,
}

const DISTANCES: [Distance; 5] = [
    Distance::Core,
    Distance::Cluster,
    Distance::Die,
    Distance::Socket,
    Distance::Remote,
];

/// A part of a machine, as a node of its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole.
    Machine,
    /// A socket.
    Socket,
    /// A die.
    Die,
    /// A cluster.
    Cluster,
    /// A core, with its number.
    Core(u16),
    /// A hardware thread (logical CPU), with its number.
    Thread(u16),
}

/// The shape of a machine. Logical CPU `c` is thread `c % smt` of core `c / smt`; cores are
/// numbered through clusters, dies and sockets in this order.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The containment tree.
    pub graph: UnGraph<Part, ()>,
    core_of: Vec<u16>,
    /// For each core and distance: all cores not farther than that.
    within: Vec<[CoreSet; 5]>,
    /// The distance of each core from each core.
    apart: Vec<Distance>,
    smt: u16,
}

impl Topology {
    /// Builds the graph and, from its path lengths, the distances.
    ///
    /// # Panics
    /// If a part has no members or there are more than [`MAX_CPUS`] CPUs.
    pub fn new(spec: &TopologySpec) -> Topology {
        assert!((1..=MAX_CPUS as u32).contains(&spec.cpus()), "1..=256 CPUs");
        let mut graph = UnGraph::default();
        let (mut cores, mut core_of) = (Vec::new(), Vec::new());
        let root = graph.add_node(Part::Machine);
        let below = |graph: &mut UnGraph<Part, ()>, above: NodeIndex, part| {
            let node = graph.add_node(part);
            graph.add_edge(above, node, ());
            node
        };
        for _ in 0..spec.sockets {
            let socket = below(&mut graph, root, Part::Socket);
            for _ in 0..spec.dies {
                let die = below(&mut graph, socket, Part::Die);
                for _ in 0..spec.clusters {
                    let cluster = below(&mut graph, die, Part::Cluster);
                    for _ in 0..spec.cores {
                        let number = cores.len() as u16;
                        let core = below(&mut graph, cluster, Part::Core(number));
                        cores.push(core);
                        for _ in 0..spec.smt {
                            below(&mut graph, core, Part::Thread(core_of.len() as u16));
                            core_of.push(number);
                        }
                    }
                }
            }
        }
        let within: Vec<[CoreSet; 5]> = cores
            .iter()
            .map(|&core| Topology::rings(&graph, core))
            .collect();
        let n = cores.len() as u16;
        let first_with =
            |rings: &[CoreSet; 5], core| rings.iter().position(|ring| ring.has(core)).unwrap_or(4);
        let apart = within
            .iter()
            .flat_map(|rings| (0..n).map(|core| DISTANCES[first_with(rings, core)]))
            .collect();
        Topology {
            graph,
            core_of,
            within,
            apart,
            smt: spec.smt,
        }
    }

    /// Cores by distance from `core`: the path over the lowest common part has two edges a level.
    fn rings(graph: &UnGraph<Part, ()>, core: NodeIndex) -> [CoreSet; 5] {
        let mut rings = [CoreSet::default(); 5];
        for (node, hops) in dijkstra(graph, core, None, |_| 1u32) {
            if let Part::Core(number) = graph[node] {
                for ring in &mut rings[hops as usize / 2..] {
                    ring.insert(number);
                }
            }
        }
        rings
    }

    /// Number of logical CPUs.
    pub fn cpus(&self) -> usize {
        self.core_of.len()
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        self.within.len()
    }

    /// The core of logical CPU `cpu`.
    #[inline(always)]
    pub fn core_of(&self, cpu: u16) -> u16 {
        self.core_of[usize::from(cpu)]
    }

    /// The other hardware threads of `cpu`'s core.
    pub fn siblings(&self, cpu: u16) -> impl Iterator<Item = u16> + use<> {
        let first = cpu / self.smt * self.smt;
        (first..first + self.smt).filter(move |&c| c != cpu)
    }

    /// How far apart two cores are.
    #[inline(always)]
    pub fn distance(&self, a: u16, b: u16) -> Distance {
        self.apart[usize::from(a) * self.within.len() + usize::from(b)]
    }

    /// The distance of the nearest member of `set` from `core`.
    #[inline(always)]
    pub fn nearest(&self, core: u16, set: &CoreSet) -> Distance {
        let within = &self.within[usize::from(core)];
        DISTANCES[within.iter().position(|ring| ring.meets(set)).unwrap_or(4)]
    }

    /// The distance of the farthest member of `set` from `core`.
    #[inline(always)]
    pub fn farthest(&self, core: u16, set: &CoreSet) -> Distance {
        let within = &self.within[usize::from(core)];
        DISTANCES[within
            .iter()
            .position(|ring| !set.leaves(ring))
            .unwrap_or(4)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_follow_containment() {
        let t = Topology::new(&TopologySpec {
            sockets: 2,
            dies: 2,
            clusters: 2,
            cores: 2,
            smt: 2,
        });
        assert_eq!(t.cpus(), 32);
        assert_eq!(t.core_of(3), 1);
        assert_eq!(t.siblings(3).collect::<Vec<_>>(), [2]);
        let far = |a: u16, b: u16| t.nearest(t.core_of(a), &CoreSet::only(t.core_of(b)));
        assert_eq!(far(0, 1), Distance::Core);
        assert_eq!(far(0, 2), Distance::Cluster);
        assert_eq!(far(0, 4), Distance::Die);
        assert_eq!(far(0, 8), Distance::Socket);
        assert_eq!(far(0, 16), Distance::Remote);
        assert!((0..32).all(|cpu| t.distance(0, t.core_of(cpu)) == far(0, cpu)));
        let mut set = CoreSet::only(1);
        set.insert(15);
        assert_eq!(
            (t.nearest(0, &set), t.farthest(0, &set)),
            (Distance::Cluster, Distance::Remote)
        );
    }
}
