//! Instructions that kernel functions retire: the kernel cost table.
//!
//! Counted on a real kernel (Linux 6.1.192, x86-64, `mitigations=off`) under full instruction
//! tracing unless the entry says otherwise. A scenario may replace any of them
//! (`kernel: (costs: {"skb_alloc": 487})`). Costs that are not instructions (atomics, misses,
//! clock reads) come from the machine profile.

macro_rules! costs {
    ($($(#[doc = $doc:literal])* $id:ident $name:literal $insns:literal $min:literal..=$max:literal $source:literal),* $(,)?) => {
        /// A named instruction count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(usize)]
        pub enum Cost { $($(#[doc = $doc])* $id),* }

        impl Cost {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Cost] = &[$(Cost::$id),*];

            /// Name in scenarios.
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

            /// What is counted.
            pub fn doc(self) -> &'static str {
                match self { $(Cost::$id => concat!($($doc),*).trim_ascii()),* }
            }
        }
    };
}

costs! {
    /// `pktgen_thread_worker` with rcu, `cond_resched` and `kthread_should_stop`.
    PktgenWorker "pktgen_worker" 69 40..=100 "counted, 04: 40 + 6 + 8 + 6 + 9",
    /// `pktgen_xmit`, self.
    PktgenXmit "pktgen_xmit" 212 200..=244 "counted, 04",
    /// `fill_packet` without the allocation: `mod_cur_headers`, `pktgen_alloc_skb`, `skb_push/put`, `ip_send_check`, `pktgen_finalize_skb`, `memset`.
    PktgenFill "pktgen_fill" 289 250..=330 "counted, 04: 84 + 30 + 25 + 9 + 65 + 24 + 68 minus 23 of memset, + 7",
    /// `ktime_get_real_ts64` and the clock source's read.
    KtimeGetReal "ktime_get_real" 51 40..=60 "counted, 04: 46 + 5",
    /// One more packet of a burst or of a clone in `pktgen_xmit`.
    PktgenBurst "pktgen_burst" 23 20..=30 "counted, 03",
    /// `__alloc_skb` without the two slab allocations.
    SkbAlloc "skb_alloc" 284 240..=300 "counted, 04: 487 inclusive minus 104 and 99",
    /// `kmem_cache_alloc_node`, fast path.
    SlabAlloc "slab_alloc" 104 90..=120 "counted, 04: 104 (skb) and 99 (head)",
    /// `___slab_alloc`: refill from the own page, the partial lists or the page allocator.
    SlabAllocSlow "slab_alloc_slow" 150 80..=400 "estimate from the source (5.11 mm/slub.c): not counted",
    /// `new_slab`: page allocator, free list of the page.
    SlabNew "slab_new" 600 300..=2000 "estimate from the source: not counted",
    /// `kfree_skb` of the last reference without the two slab frees.
    SkbFree "skb_free" 115 100..=130 "counted, 04: 281 minus 67 and 99",
    /// `kmem_cache_free`, fast path.
    SlabFree "slab_free" 83 60..=100 "counted, 04: (67 + 99) / 2",
    /// `__slab_free`: the object's page belongs to somebody else.
    SlabFreeSlow "slab_free_slow" 45 30..=120 "estimate from the source (5.11 mm/slub.c): not counted",
    /// `consume_skb`/`kfree_skb` that only drops a reference.
    SkbUnref "skb_unref" 17 15..=20 "counted, 04: consume_skb",
    /// `__dev_queue_xmit` and `netdev_core_pick_tx`.
    DevQueueXmit "dev_queue_xmit" 147 140..=165 "counted, 04: 124 + 23",
    /// The same with a locked qdisc's `__dev_xmit_skb`.
    DevQueueXmitLocked "dev_queue_xmit_locked" 161 150..=175 "counted, 05: 138 + 23",
    /// The same of a device without a queue.
    DevQueueXmitNoqueue "dev_queue_xmit_noqueue" 135 130..=150 "counted, 08: 107 to 115, + 23",
    /// `dev_qdisc_enqueue` (or its inlined twin of the lockless path).
    DevQdiscEnqueue "dev_qdisc_enqueue" 21 15..=25 "counted, 09",
    /// `pfifo_fast_enqueue` without the ring lock.
    PfifoFastEnqueue "pfifo_fast_enqueue" 58 50..=65 "counted, 09",
    /// `pfifo_fast_dequeue`, one call.
    PfifoFastDequeue "pfifo_fast_dequeue" 56 50..=65 "counted, 09: 112 for two",
    /// `prio_enqueue` with `tcf_classify`, without the child's enqueue.
    PrioEnqueue "prio_enqueue" 85 71..=90 "counted, 09: 71 + 14",
    /// `prio_dequeue` without the children's dequeue.
    PrioDequeue "prio_dequeue" 44 40..=50 "counted, 09: 87 for two",
    /// `fq_codel_enqueue`.
    FqCodelEnqueue "fq_codel_enqueue" 103 95..=110 "counted, 06",
    /// `__fq_codel_dequeue` and its wrapper.
    FqCodelDequeue "fq_codel_dequeue" 72 46..=85 "counted, 06",
    /// Flow dissection and `__skb_get_hash` of an skb without a hash.
    SkbHash "skb_hash" 599 550..=650 "counted, 06: 217 + 66 + 316",
    /// `ktime_get` and the clock source's read.
    KtimeGet "ktime_get" 43 38..=50 "counted, 06: 38 + 5",
    /// `pfifo_enqueue`.
    PfifoEnqueue "pfifo_enqueue" 17 15..=20 "counted, 05",
    /// `qdisc_dequeue_head`.
    QdiscDequeueHead "qdisc_dequeue_head" 22 4..=25 "counted, 41",
    /// `__qdisc_run` with one dequeue that finds nothing.
    QdiscRun "qdisc_run" 50 45..=60 "counted, 05",
    /// `__qdisc_run` and `dequeue_skb` for each packet found.
    QdiscRunPacket "qdisc_run_packet" 65 55..=70 "counted, 09: 115 minus 50",
    /// `sch_direct_xmit` without a lock of the device.
    SchDirectXmit "sch_direct_xmit" 60 55..=75 "counted, 04",
    /// `validate_xmit_skb_list` and below, nothing to do.
    ValidateXmit "validate_xmit" 197 180..=210 "counted, 04: 37 + 42 + 56 + 41 + 21",
    /// The same in 3.7's `dev_hard_start_xmit`: no list, no xfrm, the protocol is at hand.
    ValidateInLock "validate_in_lock" 98 90..=197 "counted, 04: 42 + 56",
    /// `dev_hard_start_xmit`.
    DevHardStartXmit "dev_hard_start_xmit" 64 60..=70 "counted, 04",
    /// `HARD_TX_LOCK` and `HARD_TX_UNLOCK` around it, without the lock's own.
    HardTxLock "hard_tx_lock" 13 8..=20 "counted, 34: 73 minus 60 in sch_direct_xmit",
    /// `dummy_xmit` and `skb_clone_tx_timestamp`.
    DummyXmit "dummy_xmit" 22 18..=40 "counted, 04: 18 + 4",
    /// `__local_bh_enable_ip` with nothing pending.
    LocalBhEnable "local_bh_enable" 16 15..=18 "counted, 04: 33 for two",
    /// `_raw_spin_lock`.
    SpinLock "spin_lock" 7 6..=10 "counted, 05",
    /// `_raw_spin_unlock`.
    SpinUnlock "spin_unlock" 6 5..=8 "counted, 05",
    /// `_raw_spin_trylock`.
    SpinTrylock "spin_trylock" 10 8..=12 "counted, 04",
    /// Contended part of `native_queued_spin_lock_slowpath`, besides its spinning.
    SpinSlowpath "spin_slowpath" 40 20..=80 "estimate from the source: not counted",
    /// `__netif_schedule`.
    NetifSchedule "netif_schedule" 40 30..=60 "estimate from the source: not counted",
    /// `net_tx_action`, for each qdisc.
    NetTxAction "net_tx_action" 60 40..=100 "estimate from the source: not counted",
    /// `do_softirq` and `handle_softirqs`, one round.
    DoSoftirq "do_softirq" 121 100..=170 "counted, 22: 33 + 3 + 85",
    /// One turn of ksoftirqd's loop.
    Ksoftirqd "ksoftirqd" 60 40..=100 "estimate from the source: not counted",
    /// Switching tasks: `__schedule` and below.
    Schedule "schedule" 600 300..=1500 "estimate: not counted",
    /// `sch_may_need_requeuing` of the thread's RFC: gso list and peek.
    MayNeedRequeuing "may_need_requeuing" 30 15..=60 "estimate: patch text only",
    /// Driver receive of one frame with its allocations of structures: `e1000_clean_rx_irq` per packet and buffer refill.
    NicRx "nic_rx" 313 250..=390 "counted, 28: 107 + 90 + 46 + 66 + part of `net_rx_action`",
    /// `eth_type_trans`, `napi_gro_receive`, `__netif_receive_skb_core`.
    NetifReceive "netif_receive" 324 300..=450 "counted, 28: 38 + 33 + 119 + 134",
    /// `ip_rcv_core` and `ip_rcv`.
    IpRcv "ip_rcv" 166 160..=175 "counted, 28: 118 + 48",
    /// Route lookup for input, inclusive.
    IpRouteInput "ip_route_input" 599 500..=650 "counted, 28",
    /// `ip_forward`, `ip_forward_finish`, `ip_output`, `ip_finish_output`.
    IpForward "ip_forward" 300 250..=350 "estimate of the specification: not traced",
    /// `ip_finish_output2` and the neighbour's cached header.
    IpFinishOutput2 "ip_finish_output2" 122 110..=135 "counted, 18",
    /// Driver transmit of one frame: `e1000_xmit_frame`, DMA map, `e1000_maybe_stop_tx`.
    NicXmit "nic_xmit" 381 350..=420 "counted, 34: 283 + 66 + 32",
    /// Transmit completion of one buffer, without freeing the skb.
    NicClean "nic_clean" 91 80..=120 "counted, 28: 46 + 45",
    /// The program `xdp_redirect`: counts, swaps the MAC addresses, calls the helper.
    XdpProgram "xdp_program" 30 5..=60 "read from samples/bpf/xdp_redirect_kern.c, not counted (36 has a program of 6)",
    /// `bpf_xdp_redirect`.
    BpfXdpRedirect "bpf_xdp_redirect" 9 8..=12 "counted, 36",
    /// `bpf_xdp_redirect_map`.
    BpfXdpRedirectMap "bpf_xdp_redirect_map" 24 9..=30 "counted, 36 and 37: 2 more in all than bpf_xdp_redirect 9 with dev_get_by_index_rcu 13",
    /// `xdp_do_redirect`, self.
    XdpDoRedirect "xdp_do_redirect" 101 90..=110 "counted, 36",
    /// `dev_get_by_index_rcu`.
    DevGetByIndex "dev_get_by_index_rcu" 13 10..=20 "counted, 36",
    /// `dev_xdp_enqueue` or `dev_map_enqueue`.
    DevXdpEnqueue "dev_xdp_enqueue" 18 15..=25 "counted, 36",
    /// `bq_enqueue`.
    BqEnqueue "bq_enqueue" 42 38..=50 "counted, 36",
    /// `bq_xmit_all` with its tracepoint, a call.
    BqXmitAll "bq_xmit_all" 57 50..=65 "counted, 36: 59 with one frame",
    /// Its prefetch loop, a frame.
    BqXmitFrame "bq_xmit_frame" 2 2..=4 "counted, 36 and the source: 32 for 16 frames",
    /// `xdp_do_flush`.
    XdpDoFlush "xdp_do_flush" 4 4..=12 "counted, 36",
    /// `__bpf_tx_xdp` around the driver's function (up to 5.5).
    BpfTxXdp "bpf_tx_xdp" 15 10..=25 "read from net/core/filter.c (5.5), not counted",
    /// `page_pool` recycling of a page, with what `xdp_return_frame` does before it.
    PagePoolRecycle "page_pool_recycle" 20 15..=60 "H032: 5.4 ns for allocation and recycling together",
    /// mlx5e: completion entry, buffer, `xdp_buff`, and refill of one received frame.
    Mlx5RxCqe "mlx5_rx_cqe" 260 180..=400 "estimate from the source (en_rx.c, 5.5): not counted",
    /// `mlx5e_xdp_xmit` around the frames: flag tests, CPU to channel to send queue.
    Mlx5XdpXmit "mlx5_xdp_xmit" 25 20..=40 "read from en/xdp.c (5.5): 25 instructions, 5 dependent loads that hit",
    /// One frame into the multi-packet descriptor, with its DMA mapping.
    Mlx5XdpFrame "mlx5_xdp_frame" 70 50..=110 "estimate from the source (en/xdp.c, 5.5): not counted",
    /// Opening and closing a multi-packet descriptor.
    Mlx5XdpSession "mlx5_xdp_session" 65 0..=120 "read from en/xdp.c (5.5); 0 on a ConnectX-4, which has none",
    /// `mlx5e_notify_hw` without its barrier and its write.
    Mlx5Notify "mlx5_notify" 12 8..=20 "read from en/txrx.h (5.5), not counted",
    /// One completion entry of the XDP send queue.
    Mlx5XdpCqe "mlx5_xdp_cqe" 45 30..=80 "estimate from the source (mlx5e_poll_xdpsq_cq, 5.5): not counted",
    /// One frame behind a completion entry.
    Mlx5XdpClean "mlx5_xdp_clean" 35 25..=70 "estimate from the source (mlx5e_free_xdpsq_desc, 5.5): not counted",
    /// `mlx5e_xmit` of a linear skb.
    Mlx5Xmit "mlx5_xmit" 300 250..=400 "estimate: as e1000_xmit_frame with its DMA mapping",
    /// One completion entry of a send queue.
    Mlx5TxCqe "mlx5_tx_cqe" 45 30..=80 "as mlx5_xdp_cqe",
    /// Arming the completion queues of a channel.
    Mlx5CqArm "mlx5_cq_arm" 45 30..=80 "estimate from the source (mlx5e_cq_arm, 5.5), for three queues",
    /// What the core does for `ndo_xmit_flush` after each packet: keeps the queue, tests the device's operations.
    XmitFlushTest "xmit_flush_test" 8 6..=10 "counted in the patch of August 2014: keep the queue 3, test the pointer 5",
    /// `ixgbe_xmit_flush` without the call itself, less the tail write in `ndo_start_xmit` that it replaces.
    XmitFlush "xmit_flush" 10 8..=14 "counted in the patch of August 2014: arguments 2, frame 4, adapter to tail 5, store 1, less 2",
    /// One NAPI poll's frame: `net_rx_action`, `__napi_poll`, the driver's poll.
    NapiPoll "napi_poll" 231 200..=260 "counted, 28: 103 + 28 + 100",
    /// `sendto`: entry, `__sys_sendto`, security hooks, and the way back.
    SysSendto "sys_sendto" 569 400..=700 "counted, 14: 91 + 31 + 16 + 35 + 71 + 27 + 59 + 26 + 140 + 73",
    /// `tpacket_snd` for a frame, with the frame's look-up.
    TpacketSnd "tpacket_snd" 280 250..=300 "counted, 16: 263 + 17",
    /// `sock_alloc_send_pskb`, `alloc_skb_with_frags`, `skb_set_owner_w`.
    SockAllocSend "sock_alloc_send" 131 120..=140 "counted, 16: 58 + 40 + 33",
    /// The functions that `tpacket_fill_skb` calls: `skb_push`, `skb_put`, `skb_store_bits`.
    TpacketFill "tpacket_fill" 75 60..=90 "counted, 16: 9 + 13 + 47 + 6",
    /// `packet_parse_headers` and the flow dissector.
    PacketParseHeaders "packet_parse_headers" 194 0..=200 "counted, 16: inclusive",
    /// `packet_snd`, self.
    PacketSnd "packet_snd" 216 200..=240 "counted, 14",
    /// `skb_copy_datagram_from_iter` and `skb_put`, 64 bytes.
    PacketCopyFrom "packet_copy_from" 397 380..=420 "counted, 14: 384 + 13",
    /// `packet_direct_xmit`, the choice of the queue, `__dev_direct_xmit`.
    PacketDirectXmit "packet_direct_xmit" 180 160..=200 "counted, 16: 32 + 60 + 88",
    /// What `packet_direct_xmit` looks at first: `validate_xmit_skb`, `netif_skb_features`.
    DirectValidate "direct_validate" 174 90..=180 "counted, 16: 153 + 21",
    /// `tpacket_destruct_skb` and below.
    TpacketDestruct "tpacket_destruct" 110 90..=120 "counted, 16: 43 + 17 + 40 + 10",
    /// `sock_wfree` and below.
    SockWfree "sock_wfree" 86 80..=95 "counted, 16",
    /// `__get_page_tail` and the compound lock.
    CompoundTailGet "compound_tail_get" 30 15..=60 "estimate from the source (3.14 mm/swap.c): not counted",
    /// `put_compound_page` and the compound lock.
    CompoundTailPut "compound_tail_put" 60 30..=90 "estimate from the source (3.14 mm/swap.c): not counted",
    /// trafgen's own work for a packet, in user mode.
    TrafgenFill "trafgen_fill" 90 40..=150 "S0: 4 CPUs for 117.19 ns a packet less 1458.5 kernel cycles leave 93 cycles",
    /// The timer interrupt: `tick_sched_timer` and what hangs on it.
    TimerTick "timer_tick" 5000 3000..=12000 "estimate: 1 to 2 us a tick",
    /// Hard interrupt to `__napi_schedule`, inclusive.
    HardIrq "hard_irq" 405 350..=450 "counted, 28: `__common_interrupt` median",
    /// `send` down to `tcp_sendmsg`: syscall entry and exit, fd lookup, `__sys_sendto`, `inet_sendmsg`.
    SysSend "sys_send" 429 380..=480 "counted, 24: 236 + 59 + 71 + 10 + 32 + 21, without LSM hooks",
    /// `tcp_sendmsg_locked`, a call.
    TcpSendmsg "tcp_sendmsg" 475 300..=660 "counted, 24-27: 300 to 650 a 64 KB send",
    /// `tcp_stream_alloc_skb` and `tcp_skb_entail`, without the allocation.
    TcpSkbEntail "tcp_skb_entail" 109 95..=120 "counted, 24: 34 + 75",
    /// `tcp_push` and `__tcp_push_pending_frames`.
    TcpPush "tcp_push" 53 45..=60 "counted, 24: 36 + 17",
    /// `tcp_write_xmit`, each skb.
    TcpWriteXmit "tcp_write_xmit" 231 180..=312 "counted, 24-32: 180 to 270 an skb",
    /// `tso_fragment`: splits an skb of the write queue, without the allocation.
    TcpFragment "tcp_fragment" 250 150..=400 "estimate from the source: not counted",
    /// `__tcp_transmit_skb` of data: options, checksum of the header, window, rate sample.
    TcpTransmit "tcp_transmit" 588 520..=620 "counted, 24: 314 + 54 + 43 + 25 + 77 + 75",
    /// `__tcp_transmit_skb` of an ACK and `tcp_send_ack`.
    TcpTransmitAck "tcp_transmit_ack" 472 420..=500 "counted, 27: 267 + 54 + 43 + 25 + 77 + 6",
    /// `skb_clone`.
    SkbClone "skb_clone" 158 140..=230 "counted, 24: 30 + 128",
    /// `__ip_queue_xmit` to `ip_finish_output`.
    IpQueueXmit "ip_queue_xmit" 402 370..=430 "counted, 24: 154 + 93 + 68 + 17 + 36 + 31 + 3",
    /// `ip_local_deliver` to the protocol.
    IpLocalDeliver "ip_local_deliver" 94 85..=105 "counted, 24: 27 + 33 + 34",
    /// `tcp_v4_rcv`, `tcp_v4_do_rcv`, `__inet_lookup_established`.
    TcpV4Rcv "tcp_v4_rcv" 344 320..=400 "counted, 24: 206 + 43 + 95",
    /// `tcp_rcv_established` of data with `tcp_queue_rcv`, `tcp_event_data_recv`, `tcp_data_ready`.
    TcpRcvData "tcp_rcv_data" 240 210..=270 "counted, 27: 118 + 44 + 67 + 11",
    /// `tcp_rcv_established` of a pure ACK.
    TcpRcvAck "tcp_rcv_ack" 110 100..=140 "counted, 24-32",
    /// `tcp_ack` and below without the freeing of what it acknowledges.
    TcpAck "tcp_ack" 540 450..=590 "counted, 30: 539; 450 to 590",
    /// `sock_def_readable` and `__wake_up_common` with nobody to wake.
    SockReadable "sock_readable" 72 60..=90 "counted, 27: 20 + 52",
    /// `try_to_wake_up`, inclusive.
    TryToWakeUp "try_to_wake_up" 1384 900..=1500 "counted, 24-32",
    /// Going to sleep: half of `sk_wait_data`, inclusive of both switches.
    SkWaitData "sk_wait_data" 1330 900..=1400 "counted, 30: 2661 / 2",
    /// Coming back from sleep: the other half.
    SkWokenUp "sk_woken_up" 1331 900..=1400 "counted, 30: 2661 / 2",
    /// `lock_sock_nested` without its spin lock.
    LockSock "lock_sock" 16 12..=20 "counted, 24",
    /// `release_sock` without its spin lock.
    ReleaseSock "release_sock" 34 25..=45 "counted, 24: 47 minus the lock's 13",
    /// `__release_sock`, each skb of the backlog.
    ReleaseBacklog "release_backlog" 45 35..=65 "counted, 24-32: 45 to 63 a call",
    /// `recv` down to `tcp_recvmsg`: syscall entry and exit, fd lookup, `__sys_recvfrom`, `inet_recvmsg`.
    SysRecv "sys_recv" 430 380..=480 "counted, 22: as `sys_send`",
    /// `tcp_recvmsg` and `tcp_cleanup_rbuf`, a call.
    TcpRecvmsg "tcp_recvmsg" 298 250..=350 "counted, 30: 53 + 229 + 16",
    /// Each skb in `tcp_recvmsg`: `tcp_rcv_space_adjust`, `__skb_datagram_iter`, `tcp_eat_recv_skb`.
    TcpRecvSkb "tcp_recv_skb" 170 130..=220 "counted, 27: 79 + 21 + 49 + 21",
    /// Each page fragment copied: its part of `__skb_datagram_iter`.
    CopyFrag "copy_frag" 24 15..=60 "counted, 30: (396 - 49) / 15",
    /// `put_page` of a fragment in `skb_release_data`, or `get_page`.
    PutPage "put_page" 25 10..=60 "counted, 24-27: 212 - 139 over three",
    /// `tcp_wfree`.
    TcpWfree "tcp_wfree" 37 35..=45 "counted, 24",
    /// `tcp_tasklet_func` and `tcp_tsq_handler`.
    TcpTasklet "tcp_tasklet" 98 80..=120 "counted, 24: 74 + 24",
    /// `__netif_receive_skb_core` of an skb that needs no GRO, with `eth_type_trans`.
    NetifReceiveCore "netif_receive_core" 172 160..=190 "counted, 24-32: 134 + 38",
    /// `vlan_untag`: the tag of the data becomes the skb's.
    VlanUntag "vlan_untag" 70 40..=120 "estimate from the source (3.7 net/8021q/vlan_core.c): not counted",
    /// `vlan_do_receive`.
    VlanDoReceive "vlan_do_receive" 60 40..=120 "estimate from the source (3.7 net/8021q/vlan_core.c): not counted",
    /// `vlan_dev_hard_start_xmit`.
    VlanXmit "vlan_xmit" 47 40..=60 "counted, 10-13",
    /// `vlan_dev_hard_header`.
    VlanHardHeader "vlan_hard_header" 40 25..=60 "estimate from the source: not counted",
    /// `__vlan_put_tag`: 12 bytes moved, 4 written.
    VlanPutTag "vlan_put_tag" 34 28..=60 "counted, 10-13: 15 + 9, and the store of the tag",
    /// `__skb_gso_segment` to `tcp_gso_segment`, each skb.
    GsoSkb "gso_skb" 300 250..=400 "counted, 25: about 300 an skb",
    /// Each segment that refers to the fragments: `skb_segment`, headers of IP and TCP, without allocation.
    GsoSegment "gso_segment" 423 400..=450 "counted, 25: 925 a segment less 502 of `__alloc_skb`",
    /// Each segment that copies: without allocation and without the copy loop.
    GsoSegmentCopy "gso_segment_copy" 508 450..=600 "counted, 27: 1590 and 141 a segment, less 502 of `__alloc_skb` and 721 of the loop",
    /// `skb_checksum_help` without the pass over the data.
    ChecksumHelp "checksum_help" 190 150..=230 "counted, 26: 69 + 14 + 107",
    /// `__skb_linearize` without the copy.
    Linearize "linearize" 200 120..=400 "estimate from the source: not counted",
    /// Transmit of one frame by a driver with offloads, without its descriptors.
    OffloadXmit "offload_xmit" 300 250..=380 "counted, 30: `e1000_xmit_frame` 499 less two buffers of 100",
    /// Each descriptor of it: DMA map, descriptor.
    OffloadXmitDesc "offload_xmit_desc" 106 80..=130 "counted, 30: 66 of `dma_map_page_attrs` and 40",
    /// Completion of one frame, without freeing the skb.
    OffloadClean "offload_clean" 91 70..=120 "counted, 28: 46 + 45",
    /// Unmapping of each of its further descriptors.
    OffloadCleanDesc "offload_clean_desc" 60 45..=90 "counted, 30: 45, and `put_txbuf` per buffer",
    /// `dev_kfree_skb_irq` and its share of `net_tx_action`.
    KfreeSkbIrq "kfree_skb_irq" 40 25..=60 "estimate from the source: not counted",
    /// Receive of one frame into an aggregate: descriptor, page buffer, `lro_receive_frags`.
    /// `lro_receive_frags` was not counted; GRO was, which looks at the same headers and links the same fragments.
    /// Without it (350 estimated from the source) the receiver of the VLAN offload thread is too cheap.
    LroFrame "lro_frame" 918 500..=1000 "counted, 28, 27: 107 + 46 of `dma_unmap`, and 765 of GRO in the place of LRO",
    /// Each page buffer given to the device: half of `__alloc_pages` (two buffers share a page) and of its DMA map, descriptor.
    RxPage "rx_page" 335 250..=400 "counted, 27, 32: 544 / 2 + 66 / 2, and 30",
    /// `put_page` of a receive buffer: the second of a page also frees it.
    RxPutPage "rx_put_page" 225 180..=260 "counted, 27, 32: 25, and 401 / 2 of `free_unref_page`",
    /// Turning an aggregate into an skb: `lro_gen_skb`, `lro_flush`, headers.
    LroFlush "lro_flush" 200 120..=350 "estimate from the source (3.7 net/ipv4/inet_lro.c): not counted",
    /// `__netif_rx` and `netif_rx_internal`.
    NetifRx "netif_rx" 32 25..=45 "counted, 22: 11 + 21",
    /// `enqueue_to_backlog` of a packet behind others, without its lock.
    EnqueueToBacklog "enqueue_to_backlog" 97 80..=120 "counted, 22: 139 less 29 of scheduling and 13 of the lock",
    /// The first packet of a backlog: its poll is scheduled.
    BacklogSchedule "backlog_schedule" 29 25..=40 "counted, 22: 17 + 12",
    /// `net_rx_action` and `__napi_poll` of one poll of a backlog.
    NapiPollBacklog "napi_poll_backlog" 158 140..=180 "counted, 22: 100 + 30 + 28",
    /// `process_backlog` that finds nothing, without its lock.
    ProcessBacklog "process_backlog" 71 60..=90 "counted, 22: 85 less 22 a packet, and interrupts off and on",
    /// Each packet of it.
    BacklogPacket "backlog_packet" 33 22..=40 "counted, 22: 22 + 11 of rcu",
    /// `__netif_receive_skb` of a packet from the backlog.
    NetifReceiveBacklog "netif_receive_backlog" 170 160..=190 "counted, 22: 4 + 32 + 134",
    /// `get_rps_cpu` without the hash.
    GetRpsCpu "get_rps_cpu" 60 40..=100 "estimate from the source (6.1 net/core/dev.c): not counted",
    /// `net_rps_send_ipi` and `smp_call_function_single_async`, without the write to the APIC.
    SendIpi "send_ipi" 90 60..=160 "estimate from the source (6.1 kernel/smp.c): not counted",
    /// `sysvec_call_function_single` down to `rps_trigger_softirq`.
    RpsTrigger "rps_trigger" 190 120..=300 "estimate: entry and exit as counted in 28 (9 + 45 + 24), `__flush_smp_call_function_queue` from the source",
    /// `loopback_xmit` without `netif_rx`.
    LoopbackXmit "loopback_xmit" 100 70..=140 "estimate: 38 of `eth_type_trans` and the rest of `veth_xmit` without its forwarding",
    /// `veth_xmit` without `netif_rx`.
    VethXmit "veth_xmit" 210 190..=230 "counted, 22: 381 less 171",
    /// Each packet of `veth_poll`: `veth_xdp_rcv`, `napi_gro_receive`.
    VethRcv "veth_rcv" 152 100..=220 "estimate: as a NIC's, counted in 28: 33 + 119",
    /// `sendto` of a connected UDP socket, without `__dev_queue_xmit` and `__alloc_skb`.
    UdpSendmsg "udp_sendmsg" 2693 2500..=2900 "counted, 19: 4146 less 951 and 502",
    /// What an unconnected socket adds: route lookup, destination address.
    UdpRoute "udp_route" 1038 900..=1100 "counted, 18 and 19: 5184 less 4146",
    /// `sock_wfree` of a UDP socket.
    UdpWfree "udp_wfree" 70 55..=80 "counted, 22",
    /// `ip_rcv_finish_core` with `udp_v4_early_demux`, without the route lookup.
    IpRcvFinish "ip_rcv_finish" 166 150..=180 "counted, 22: 74 + 92",
    /// `udp_rcv` to `udp_queue_rcv_one_skb`.
    UdpRcv "udp_rcv" 735 700..=760 "counted, 22: 891 less 129 of enqueueing and 94 of `ip_local_deliver`, with 67 of `raw_local_deliver` and rcu",
    /// `__udp_enqueue_schedule_skb` without its lock and without waking.
    UdpEnqueue "udp_enqueue" 93 80..=110 "counted, 22: 129 less 13 and 23",
    /// `sock_def_readable` with nobody to wake.
    SockReadableNobody "sock_readable_nobody" 23 20..=30 "counted, 22: 17 + 6",
    /// `recvfrom` of a UDP socket without the system call, its locks, and freeing.
    UdpRecvmsg "udp_recvmsg" 718 600..=800 "counted, 22: 1488 less 430, 42 and 298",
    /// `hrtimer_interrupt` down to `qdisc_watchdog`.
    Watchdog "qdisc_watchdog" 450 250..=900 "estimate: entry and exit as counted in 28, `hrtimer_interrupt` from the source: not counted",
    /// `qdisc_watchdog_schedule_ns`: arming the timer.
    WatchdogSchedule "qdisc_watchdog_schedule" 250 100..=500 "estimate from the source (6.1 kernel/time/hrtimer.c): not counted",
    /// `tbf_enqueue`, without the child.
    TbfEnqueue "tbf_enqueue" 33 30..=40 "counted, 42",
    /// `tbf_dequeue`, without the child.
    TbfDequeue "tbf_dequeue" 47 40..=60 "counted, 42",
    /// `codel_qdisc_enqueue`.
    CodelEnqueue "codel_enqueue" 30 20..=50 "estimate from the source (6.1 net/sched/sch_codel.c): not counted",
    /// `codel_qdisc_dequeue` with `codel_dequeue`.
    CodelDequeue "codel_dequeue" 70 40..=90 "estimate: as `fq_codel_dequeue`, counted in 06",
}

/// The value of each [`Cost`] that a host uses.
#[derive(Clone, Debug)]
pub struct CostTable(Vec<u32>);

/// Instructions of kernel versions against those of 6.1, for all functions alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionScale {
    /// The first version it is for.
    pub from: (u32, u32),
    /// The first it is not for any more.
    pub before: (u32, u32),
    /// Permille.
    pub permille: u32,
    /// The published row it was fitted to.
    pub fitted: &'static str,
}

/// Versions that are not here have no count to compare with, and keep the counts of 6.1.
///
/// 3.14: no memory cgroups in the allocator, no flow dissector in sending, no fault injection, smaller
/// structs. The prior is 1338 of the 2093 instructions of a TX_RING packet.
pub const VERSION_SCALES: &[VersionScale] = &[VersionScale {
    from: (3, 13),
    before: (3, 18),
    permille: 620,
    fitted: "S0.after.instructions_k",
}];

/// The scale of kernel `version`.
pub fn version_scale(version: (u32, u32)) -> u32 {
    VERSION_SCALES
        .iter()
        .find(|s| s.from <= version && version < s.before)
        .map_or(1000, |s| s.permille)
}

impl CostTable {
    /// The built-in table scaled to kernel `version`, with some entries replaced.
    pub fn new(version: (u32, u32), replace: &[(Cost, u32)]) -> CostTable {
        let scale = version_scale(version);
        // Counts that are not of 6.1: a program's, and those of a patch.
        let own = |c: &Cost| matches!(c, Cost::TrafgenFill | Cost::XmitFlushTest | Cost::XmitFlush);
        let kernel = |c: &Cost| if own(c) { 1000 } else { scale };
        let mut values: Vec<u32> = Cost::ALL
            .iter()
            .map(|c| (c.insns() * kernel(c) + 500) / 1000)
            .collect();
        for &(cost, insns) in replace {
            values[cost as usize] = insns;
        }
        CostTable(values)
    }

    /// Instructions of `cost`.
    #[inline(always)]
    pub fn get(&self, cost: Cost) -> u32 {
        self.0[cost as usize]
    }
}
