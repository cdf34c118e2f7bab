//! Instructions a kernel function retires (skeleton; the full table comes, the API stays).

macro_rules! costs {
    ($($(#[$doc:meta])* $id:ident $name:literal $insns:literal $min:literal..=$max:literal $source:literal),* $(,)?) => {
        /// A named instruction count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(usize)]
        pub enum Cost { $($(#[$doc])* $id),* }

        impl Cost {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Cost] = &[$(Cost::$id),*];

            /// Name in scenarios (`kernel: (costs: {"skb_alloc": 487})`).
            pub fn name(self) -> &'static str {
                match self { $(Cost::$id => $name),* }
            }

            /// The built-in value: instructions a call.
            pub fn insns(self) -> u32 {
                match self { $(Cost::$id => $insns),* }
            }

            /// Range that makes sense.
            pub fn range(self) -> (u32, u32) {
                match self { $(Cost::$id => ($min, $max)),* }
            }

            /// Where the value comes from.
            pub fn source(self) -> &'static str {
                match self { $(Cost::$id => $source),* }
            }
        }
    };
}

costs! {
    /// `__alloc_skb`, inclusive.
    SkbAlloc "skb_alloc" 487 450..=500 "counted: Linux 6.1 x86-64, mitigations off",
}
