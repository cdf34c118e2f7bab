//! Kernel functions that appear in traces.

macro_rules! functions {
    ($($(#[$doc:meta])* $id:ident = $name:literal),* $(,)?) => {
        /// A kernel function, under its kernel name.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Func { $($(#[$doc])* $id),* }

        impl Func {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Func] = &[$(Func::$id),*];

            /// The kernel's name.
            pub fn name(self) -> &'static str {
                match self { $(Func::$id => $name),* }
            }
        }
    };
}

functions! {
    PktgenXmit = "pktgen_xmit",
    FillPacket = "fill_packet",
    AllocSkb = "__alloc_skb",
    KfreeSkb = "kfree_skb",
    ConsumeSkb = "consume_skb",
    DevQueueXmit = "__dev_queue_xmit",
    DevXmitSkb = "__dev_xmit_skb",
    QdiscRunBegin = "qdisc_run_begin",
    QdiscRun = "__qdisc_run",
    QdiscRunEnd = "qdisc_run_end",
    DequeueSkb = "dequeue_skb",
    PfifoFastEnqueue = "pfifo_fast_enqueue",
    PfifoFastDequeue = "pfifo_fast_dequeue",
    PfifoEnqueue = "pfifo_enqueue",
    PfifoDequeue = "qdisc_dequeue_head",
    PrioEnqueue = "prio_enqueue",
    PrioDequeue = "prio_dequeue",
    FqCodelEnqueue = "fq_codel_enqueue",
    FqCodelDequeue = "fq_codel_dequeue",
    SchDirectXmit = "sch_direct_xmit",
    DevHardStartXmit = "dev_hard_start_xmit",
    DummyXmit = "dummy_xmit",
    NicXmit = "nic_xmit_frame",
    NetifSchedule = "__netif_schedule",
    NetTxAction = "net_tx_action",
    NetRxAction = "net_rx_action",
    DoSoftirq = "__do_softirq",
    RunKsoftirqd = "run_ksoftirqd",
    SpinLockSlowpath = "queued_spin_lock_slowpath",
    SlabAlloc = "___slab_alloc",
    SlabFree = "__slab_free",
    NicPoll = "nic_poll",
    Mlx5Xmit = "mlx5e_xmit",
    Mlx5Poll = "mlx5e_napi_poll",
    Mlx5XdpXmit = "mlx5e_xdp_xmit",
    XdpDoRedirect = "xdp_do_redirect",
    XdpDoFlush = "xdp_do_flush",
    BqEnqueue = "bq_enqueue",
    BqXmitAll = "bq_xmit_all",
    NapiPoll = "__napi_poll",
    NapiComplete = "napi_complete_done",
    NicCleanTx = "nic_clean_tx_irq",
    NicIrq = "nic_intr",
    IpRcv = "ip_rcv",
    IpForward = "ip_forward",
    IpOutput = "ip_output",
    PacedSend = "paced_send",
    SysSendto = "__x64_sys_sendto",
    PacketSnd = "packet_snd",
    TpacketSnd = "tpacket_snd",
    PacketDirectXmit = "packet_direct_xmit",
    TpacketDestructSkb = "tpacket_destruct_skb",
    SockWfree = "sock_wfree",
    PutPage = "put_page",
    TimerInterrupt = "timer_interrupt",
    TcpSendmsg = "tcp_sendmsg",
    TcpWriteXmit = "tcp_write_xmit",
    TcpTransmit = "tcp_transmit_skb",
    TcpSendAck = "tcp_send_ack",
    TcpV4Rcv = "tcp_v4_rcv",
    TcpAck = "tcp_ack",
    TcpRecvmsg = "tcp_recvmsg",
    TcpTasklet = "tcp_tasklet_func",
    NetifReceive = "__netif_receive_skb_core",
    ValidateXmit = "validate_xmit_skb",
    SkbSegment = "skb_segment",
    ChecksumHelp = "skb_checksum_help",
    Linearize = "__skb_linearize",
    VlanXmit = "vlan_dev_hard_start_xmit",
    VlanDoReceive = "vlan_do_receive",
    MyriXmit = "myri10ge_xmit",
    MyriPoll = "myri10ge_poll",
    MyriTxDone = "myri10ge_tx_done",
    MyriRxDone = "myri10ge_rx_done",
    IxgbeXmit = "ixgbe_xmit_frame_ring",
    IxgbeXmitFlush = "ixgbe_xmit_flush",
    IxgbePoll = "ixgbe_poll",
    IxgbeCleanTx = "ixgbe_clean_tx_irq",
    TrainSend = "train_send",
    EnqueueToBacklog = "enqueue_to_backlog",
    ProcessBacklog = "process_backlog",
    LoopbackXmit = "loopback_xmit",
    VethXmit = "veth_xmit",
    VethPoll = "veth_poll",
    UdpSendmsg = "udp_sendmsg",
    UdpRcv = "udp_rcv",
    UdpRecvmsg = "udp_recvmsg",
    QdiscWatchdog = "qdisc_watchdog",
    TbfEnqueue = "tbf_enqueue",
    TbfDequeue = "tbf_dequeue",
    CodelEnqueue = "codel_qdisc_enqueue",
    CodelDequeue = "codel_qdisc_dequeue",
    /// The name of none: outside any traced function.
    None = "-",
}

impl Func {
    /// The function with this number, or [`Func::None`].
    pub fn from_number(n: u16) -> Func {
        Func::ALL.get(usize::from(n)).copied().unwrap_or(Func::None)
    }
}
