//! The `tc` and `ip` commands of a recording as devices of a scenario.

use serde_json::Value;

/// What the commands set up.
pub struct Setup {
    /// `tx_queue_len` of the device.
    txqueuelen: u64,
    /// VLAN devices: name, device below, id, protocol.
    vlans: Vec<Vlan>,
    qdiscs: Vec<Qdisc>,
}

struct Vlan {
    name: String,
    on: String,
    id: String,
    ad: bool,
}

struct Qdisc {
    dev: String,
    child: bool,
    kind: String,
    options: Vec<String>,
}

/// `mtu + hard_header_len`.
const PSCHED_MTU: u64 = 1514;

impl Setup {
    /// Reads `setup` of a recording.
    pub fn read(recorded: &Value) -> Result<Setup, String> {
        let mut setup = Setup {
            txqueuelen: 1000,
            vlans: Vec::new(),
            qdiscs: Vec::new(),
        };
        let commands = recorded["setup"].as_array().ok_or("no setup")?;
        for command in commands.iter().filter_map(Value::as_str) {
            let words: Vec<&str> = command.split_whitespace().collect();
            match words.as_slice() {
                ["tc", "qdisc", "add", "dev", dev, rest @ ..] => {
                    setup.qdiscs.push(qdisc(dev, rest, command)?);
                }
                // The default of the devices recorded is a dummy's: none.
                ["tc", "qdisc", "del", ..] | ["ip", "link", "set", _, "up"] => {}
                ["ip", "link", "set", _, "txqueuelen", n] => {
                    setup.txqueuelen = n.parse().map_err(|_| format!("`{command}`: {n}?"))?;
                }
                [
                    "ip",
                    "link",
                    "add",
                    "link",
                    on,
                    "name",
                    name,
                    "type",
                    "vlan",
                    rest @ ..,
                ] => {
                    let after = |what| rest.iter().skip_while(|w| **w != what).nth(1);
                    setup.vlans.push(Vlan {
                        name: (*name).to_owned(),
                        on: (*on).to_owned(),
                        id: (*after("id").ok_or("a VLAN without an id")?).to_owned(),
                        ad: after("proto") == Some(&"802.1ad"),
                    });
                }
                ["tc", ..] | ["ip", ..] => return Err(format!("`{command}` is not simulated")),
                _ => {}
            }
        }
        Ok(setup)
    }

    /// The root of `dev`, with its child; `none` if no command gives it one.
    pub fn root(&self, dev: &str, none: &str) -> Result<String, String> {
        let of = |child| {
            let mut all = self.qdiscs.iter().filter(move |q| q.child == child);
            all.rfind(|q| q.dev == dev)
        };
        let Some(root) = of(false) else {
            return Ok(none.to_owned());
        };
        let child = of(true).map(|q| self.text(q, None)).transpose()?;
        self.text(root, child)
    }

    /// The VLAN devices, each as one of a scenario's list.
    pub fn vlans(&self) -> Result<String, String> {
        let each = self.vlans.iter().map(|v| {
            let proto = if v.ad { "ad" } else { "q" };
            let qdisc = self.root(&v.name, "Noqueue")?;
            Ok(format!(
                "(name: {:?}, kind: Vlan(on: {:?}, id: {}, proto: {proto}), qdisc: {qdisc}), ",
                v.name, v.on, v.id
            ))
        });
        each.collect()
    }

    fn text(&self, q: &Qdisc, child: Option<String>) -> Result<String, String> {
        let mut fields = Vec::new();
        // For tbf, of the bfifo that it begins with.
        let (mut burst, mut rate, mut limit, mut latency) = (0, 0, None, None);
        let mut options = q.options.iter().map(String::as_str).peekable();
        while let Some(option) = options.next() {
            if option == "priomap" {
                let map: Vec<&str> = options.by_ref().take(16).collect();
                fields.push(format!("priomap: [{}]", map.join(", ")));
                continue;
            }
            let value = options.next().ok_or_else(|| format!("{option}?"))?;
            match (q.kind.as_str(), option) {
                ("tbf", "rate") => {
                    rate = bits(value)?;
                    fields.push(format!("rate: \"{rate}bit\""));
                }
                ("tbf", "burst") => {
                    burst = bytes(value)?;
                    fields.push(format!("burst: \"{burst}B\""));
                }
                ("tbf", "limit") => limit = Some(bytes(value)?),
                ("tbf", "latency") => latency = Some(millis(value)?),
                ("tbf", "mpu" | "overhead") => fields.push(format!("{option}: \"{value}B\"")),
                ("bfifo", "limit") => fields.push(format!("limit: \"{}B\"", bytes(value)?)),
                ("pfifo" | "codel" | "fq_codel" | "prio", "limit" | "flows" | "bands") => {
                    fields.push(format!("{option}: {}", value.trim_end_matches('p')));
                }
                ("fq_codel", "quantum") => fields.push(format!("quantum: \"{value}B\"")),
                ("codel" | "fq_codel", "target" | "interval") => {
                    fields.push(format!("{option}: \"{value}\""));
                }
                _ => return Err(format!("{}: option {option} is not simulated", q.kind)),
            }
        }
        let has_limit = fields.iter().any(|f| f.starts_with("limit"));
        let default = match q.kind.as_str() {
            "pfifo_fast" | "pfifo" | "prio" if !has_limit => {
                Some(format!("limit: {}", self.txqueuelen))
            }
            "bfifo" if !has_limit => Some(format!("limit: \"{}B\"", self.txqueuelen * PSCHED_MTU)),
            "tbf" => {
                // As tc computes it: what fits into the latency, and the bucket.
                let bytes = latency.map(|ms| rate / 8 * ms / 1000 + burst).or(limit);
                let bytes = bytes.ok_or("tbf without limit and latency")?;
                let child = child.unwrap_or_else(|| format!("Bfifo(limit: \"{bytes}B\")"));
                Some(format!("child: {child}"))
            }
            _ => None,
        };
        fields.extend(default);
        let name = match q.kind.as_str() {
            "pfifo_fast" => "PfifoFast",
            "pfifo" => "Pfifo",
            "bfifo" => "Bfifo",
            "prio" => "Prio",
            "codel" => "Codel",
            "fq_codel" => "FqCodel",
            "tbf" => "Tbf",
            "noqueue" => return Ok("Noqueue".to_owned()),
            other => return Err(format!("qdisc {other} is not simulated")),
        };
        Ok(format!("{name}({})", fields.join(", ")))
    }
}

fn qdisc(dev: &str, rest: &[&str], command: &str) -> Result<Qdisc, String> {
    let (child, mut rest) = match rest {
        ["root", rest @ ..] => (false, rest),
        ["parent", "1:1", rest @ ..] => (true, rest),
        _ => {
            return Err(format!(
                "`{command}`: only a root and its child are simulated"
            ));
        }
    };
    if let ["handle", _, after @ ..] = rest {
        rest = after;
    }
    let [kind, options @ ..] = rest else {
        return Err(format!("`{command}`: no kind"));
    };
    Ok(Qdisc {
        dev: dev.to_owned(),
        child,
        kind: (*kind).to_owned(),
        options: options.iter().map(|o| (*o).to_owned()).collect(),
    })
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    for (unit, factor) in units {
        if let Some(n) = text.strip_suffix(unit).and_then(|n| n.parse::<u64>().ok()) {
            return Ok(n * factor);
        }
    }
    Err(format!("`{text}`?"))
}

fn bits(text: &str) -> Result<u64, String> {
    scaled(
        text,
        &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000)],
    )
}

fn bytes(text: &str) -> Result<u64, String> {
    scaled(text, &[("kb", 1024), ("k", 1024), ("", 1)])
}

fn millis(text: &str) -> Result<u64, String> {
    scaled(text, &[("ms", 1)])
}
