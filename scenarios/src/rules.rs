//! Every rule a scenario can break, by number. `skbsim explain E0311` prints from here.

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `E0nnn`. The hundreds say what kind: 1 reading, 2 shape, 3 meaning, 4 limits, 5 machine profiles.
    pub code: &'static str,
    /// The rule in one sentence.
    pub title: &'static str,
    /// Why it exists, or what to do.
    pub explain: &'static str,
}

/// The rule with this code, in any case: `E0203` or `e0203`.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|r| r.code.eq_ignore_ascii_case(code))
}

macro_rules! rules {
    ($($id:ident $code:literal $title:literal $explain:literal)*) => {
        $(pub(crate) const $id: &str = $code;)*
        /// All rules, in order of their numbers.
        pub const RULES: &[Rule] = &[$(Rule { code: $code, title: $title, explain: $explain }),*];
    };
}

rules! {
    SYNTAX "E0101" "the file is valid RON"
        "A syntax error may hide the problems behind it, so it is reported alone. Names with a dot and quantities with a unit go in quotes."
    TOO_LARGE "E0102" "the file has at most 4 MiB"
        "A scenario is a question, not a data set. The limit is checked before the text is read."
    TOO_DEEP "E0103" "values are nested at most 160 levels deep"
        "Nothing in a scenario needs more than ten."
    UNREADABLE "E0104" "every file that is named can be read"
        "The path of a machine profile is relative to the scenario that names it."
    VERSION "E0201" "`version` is 1"
        "The number changes when the meaning of a field changes, so that an old file never silently means something else."
    MISSING_FIELD "E0202" "required fields are given"
        "The reference chapter lists every field with its default; those without one are required."
    UNKNOWN_FIELD "E0203" "no field is unknown"
        "A misspelt field that is ignored is a wrong result that nobody notices."
    WRONG_TYPE "E0204" "every value has the type of its field"
        "Switches are the identifiers on and off, quantities are texts with a unit, counts are whole numbers."
    DUPLICATE_FIELD "E0205" "no field is given twice"
        "Which one counts would be a guess."
    MISSING_UNIT "E0206" "quantities have a unit"
        "Times in ps, ns, us, ms, s; sizes in B, KiB, MiB; rates in bit, kbit, Mbit, Gbit; packet rates in pps, kpps, Mpps."
    BAD_QUANTITY "E0207" "quantities are exact and use a known unit"
        "Refused: units that mean different things to different tools (m, M, bps), and digits below the smallest unit."
    OUT_OF_RANGE "E0208" "numbers lie in the range of their field"
        "The message names the range."
    UNKNOWN_CHOICE "E0209" "a choice is one of those that exist"
        "The message lists them."
    BAD_PATH "E0210" "a path of --set or of a sweep leads to a place in the scenario"
        "Paths look like kernel.lockless or hosts[0].workloads[0].size."
    CPU_RANGE "E0301" "every CPU exists on the host's machine"
        "CPUs count from 0; the machine's topology says how many there are."
    UNKNOWN_DEVICE "E0302" "every device that is named exists on the same host"
        "Devices are per host, as interfaces are per network namespace."
    UNKNOWN_PROFILE "E0303" "the machine profile exists"
        "A profile is built in, or a path that ends in .ron."
    UNKNOWN_VARIANT "E0304" "the lockless variant exists"
        "Variants are built in, or registered by the program that loads the scenario."
    DUPLICATE_NAME "E0305" "hosts, and devices of one host, have different names"
        "Names are how workloads and results refer to them."
    DUPLICATE_CPU "E0306" "a workload names each CPU once"
        "One thread a CPU and device, as in pktgen."
    KERNEL_VERSION "E0307" "the kernel version lies between v3.0 and v6.18"
        "It only picks defaults; every toggle can be given besides."
    NEEDS_NIC "E0308" "frames arrive at a Nic"
        "A Dummy has no receive side."
    LAYOUT_OVERLAP "E0309" "fields of a layout do not overlap"
        "Two fields on the same bytes would share their value."
    LINKS "E0310" "a link joins two NICs that have no other"
        "Each end is written \"host:device\"; a NIC has one port."
    BURST_QUEUE_XMIT "E0311" "`burst` is 1 in QueueXmit mode"
        "The kernel's pktgen refuses it: the qdisc path takes one packet at a time."
    CLONE_QUEUE_XMIT "E0312" "`clone_skb` is 0 in QueueXmit mode"
        "The kernel's pktgen refuses it: a queued skb cannot be sent again while the qdisc holds it."
    PACKET_SIZE "E0313" "packets have 60B to 9014B"
        "Ethernet without its frame check sequence: 60 bytes at least, a 9000-byte MTU at most."
    ENDLESS "E0314" "a load that never ends does not wait for quiescence"
        "Give the load a number of packets, or stop at a time."
    NO_STOP "E0315" "the scenario says when it stops"
        "`stop: At(..)`, `stop: Quiescent(limit: ..)`, or `measure`, which implies a stop."
    STOP_BEFORE_WINDOW "E0316" "the run lasts as long as the measurement"
        "`warmup` plus `window` must fit before the stop."
    EMPTY_QUEUE "E0317" "no ring and no queue has size 0"
        "It could never hold a packet."
    EMPTY_LIST "E0318" "lists that must have an element have one"
        "A scenario without hosts, or a load without CPUs, asks nothing."
    SAME_DEVICE "E0319" "forwarding goes from one device to another"
        "A frame that leaves where it came from is a redirect, which is something else."
    SC_STORE_BUFFER "E0320" "`memory: sc` has no store buffer"
        "Sequential consistency is the model in which every store is visible at once."
    TAS_BIT "E0321" "`tas_bit_early_return: on` is for arm64"
        "On x86-64 test_and_set_bit is always a locked operation."
    COST_KEY "E0322" "cost keys exist"
        "They are listed in the reference chapter."
    UNKNOWN_METRIC "E0323" "metrics in `expect` exist"
        "They are listed in the reference chapter."
    EMPTY_BOUND "E0324" "a bound bounds: `min` or `max` is given and `min` is not above `max`"
        "A bound that always or never holds tests nothing."
    SWEEP_AXES "E0325" "a sweep has each axis once, with at least one value"
        "Two axes for one field would overwrite each other."
    LAYOUT_NAME "E0326" "a named layout is one that is built in"
        "Others are given inline, field by field."
    NAME "E0327" "names are short words"
        "Scenario and host names become file names and columns: 1 to 64 letters, digits, `-`, `_`, `.`, not beginning with a dot. Interface names have 1 to 15 characters, without blank, `/` and `:`, as in the kernel."
    LAYOUT_FIELDS "E0328" "a layout is of a struct that is placed, and places every field that kernel code touches"
        "A field without a place would have no cache line. Copy the built-in layout from the reference chapter and move what the question is about."
    THRESHOLD "E0329" "a stopped queue can be woken"
        "No more descriptors can be free than the ring has."
    PAHOLE "E0330" "a layout file is what pahole prints"
        "Every member ends in `/* offset size */`; offsets ascend, and members that share bytes stand in a union. The middle of a struct is enough."
    LAYOUT_LINE "E0331" "a field that is one word lies on one cache line"
        "The simulator moves lines, and a word that lies on two has no one owner. Compilers align words; only a packed struct breaks this."
    QUEUE_VECTORS "E0332" "each transmit queue of an Ixgbe has a vector"
        "A vector serves one ring each way; `irq_cpus` names its CPU."
    VLAN_BELOW "E0340" "a VLAN lies on a device of its host, not in a circle, and at most 4 deep"
        "At the bottom of a stack is a device that is no VLAN."
    VLAN_TWICE "E0341" "VLANs on one device have different ids"
        "A received tag leads to one device."
    VLAN_MTU "E0342" "a VLAN's MTU is not above that of the device below"
        "The kernel refuses it (`vlan_dev_change_mtu`). The tag does not count."
    STREAM "E0343" "each Netperf has a Netserver of its own"
        "`to` names its host and `port` which one; give each pair a port of its own."
    VETH_PEER "E0350" "a veth's peer is a veth that has it as its peer"
        "The kernel makes both ends together; each names the other."
    RPS "E0351" "flows are spread by a device that receives"
        "A Dummy frees what it is given and receives nothing."
    SOCKET "E0352" "each UdpSink has an address of its own"
        "Without SO_REUSEPORT the kernel refuses the second bind (EADDRINUSE)."
    MULTIQUEUE "E0353" "mq is on a device with several transmit queues, and XPS names queues that exist"
        "The kernel refuses mq elsewhere (`mq_init`)."
    SCHEDULE "E0360" "sizes and schedules can be read"
        "A size is written CPUSxPACKETS, a schedule as `skbsim explore` prints it."
    TOO_MANY_CPUS "E0401" "a machine has 1 to 256 CPUs"
        "The set of sharers of a line has 256 bits."
    TOO_MUCH_MEMORY "E0402" "rings and queues of all hosts have at most 16777216 slots"
        "Each slot is simulated memory; the limit is checked before any is taken."
    TOO_LONG "E0403" "at most 10 s are simulated"
        "A second of a busy host is minutes of simulation."
    TOO_MANY_PACKETS "E0404" "all finite loads together send at most 1000000000 packets"
        "More would not end within a day."
    TOO_MANY_POINTS "E0405" "a sweep has at most 4096 points, and fewer of a large scenario"
        "The product of the axes counts, and times the number of hosts, devices, loads and senders at most 1048576."
    TOO_MANY_PARTS "E0406" "a scenario has at most 64 hosts and 4096 senders, and a host at most 256 devices and 256 workloads"
        "The limit is checked before memory is taken."
    LAYOUT_SIZE "E0407" "a layout file has at most 16384 members, 32 deep, and a struct that is placed 65536 bytes"
        "Every line of a struct is simulated memory, once for each object; the limit is checked before any is taken."
    PROFILE_MISSING "E0501" "a machine profile gives every parameter"
        "A default would be a number without a source."
    PROFILE_UNKNOWN "E0502" "a machine profile gives no unknown parameter"
        "They are listed in the reference chapter."
    PROVENANCE "E0503" "every value of a machine profile says where it comes from"
        "Either `source` and `range`, or `fitted` with the id of the published row it was fitted to."
    VALUE_RANGE "E0504" "a value lies in the range that its source allows"
        "Outside of it, it is another machine's."
    FITTED_ID "E0505" "`fitted` names a published row"
        "Such as S3.table.vanilla.t1."
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes are unique and ascending, so a code says where to look.
    #[test]
    fn codes_ascend() {
        assert!(RULES.windows(2).all(|w| w[0].code < w[1].code));
        assert_eq!(rule("e0203").map(|r| r.code), Some("E0203"));
    }
}
