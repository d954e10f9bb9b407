//! Accesses of a warp's lanes and atomics: every pattern, all widths, several threads.

use warploom_exec::copy::FillWidth;
use warploom_exec::fault::Refusal;
use warploom_exec::memory::{AtomicOp, Gather, Lanes, Order, Run, RunMut};

use crate::memory::alloc;
use crate::toy::memory;

#[test]
fn warps_read_and_write_in_every_pattern() {
    let memory = memory(1 << 30);
    let base = alloc(&memory, 4096);
    let mut view = memory.view();
    let values: [u32; 32] = std::array::from_fn(|lane| lane as u32 * 3 + 1);
    let consecutive: [u64; 32] = std::array::from_fn(|lane| base + lane as u64 * 4);
    view.scatter(Lanes::new(&consecutive, u32::MAX, 4), &values).unwrap();
    let mut out = [0u32; 32];
    view.gather(Lanes::new(&consecutive, u32::MAX, 4), &mut out).unwrap();
    assert_eq!(out, values);
    view.load_run(base, &mut out).unwrap();
    assert_eq!(out, values);

    let reversed: [u64; 32] = std::array::from_fn(|lane| base + (31 - lane as u64) * 4);
    view.gather(Lanes::new(&reversed, u32::MAX, 4), &mut out).unwrap();
    assert!((0..32).all(|lane| out[lane] == values[31 - lane]));
    view.gather(Lanes::new(&[base + 8; 32], u32::MAX, 4), &mut out).unwrap();
    assert_eq!(out, [values[2]; 32]);

    // Lanes outside the mask touch nothing, whatever their addresses are.
    let mut wild = reversed;
    wild[5] = 3;
    out = [9; 32];
    view.gather(Lanes::new(&wild, !(1 << 5), 4), &mut out).unwrap();
    assert_eq!((out[5], out[6]), (9, values[25]));
    let fault = view.gather(Lanes::new(&wild, u32::MAX, 4), &mut out).unwrap_err();
    assert_eq!((fault.lane, fault.address, fault.refusal), (5, 3, Refusal::Misaligned));

    // The last lane wins where several write one address.
    view.scatter(Lanes::new(&[base; 32], u32::MAX, 4), &values).unwrap();
    assert_eq!(view.load::<u32>(base).unwrap(), values[31]);

    // A run that leaves the allocation names the first lane outside.
    let tail: [u64; 32] = std::array::from_fn(|lane| base + 4096 - 64 + lane as u64 * 4);
    assert_eq!(view.gather(Lanes::new(&tail, u32::MAX, 4), &mut out).unwrap_err().lane, 16);
    assert_eq!(view.store_run(base + 4096 - 64, &values).unwrap_err().lane, 16);

    let vectors: [u64; 32] = std::array::from_fn(|lane| base + lane as u64 * 16);
    let rows: [[u32; 32]; 4] = std::array::from_fn(|i| std::array::from_fn(|lane| (lane * 4 + i) as u32));
    view.scatter_vector(Lanes::new(&vectors, u32::MAX, 16), &rows).unwrap();
    view.load_run(base, &mut out).unwrap();
    assert_eq!(out, std::array::from_fn::<u32, 32, _>(|lane| lane as u32));
    let mut back = [[0u32; 32]; 4];
    view.gather_vector(Lanes::new(&vectors, u32::MAX, 16), back.each_mut()).unwrap();
    assert_eq!(back, rows);
    assert_eq!(
        view.gather_vector(Lanes::new(&consecutive, 2, 16), back.each_mut()).unwrap_err().refusal,
        Refusal::Misaligned
    );
}

#[test]
fn half_warps_have_patterns_of_their_own() {
    let memory = memory(1 << 30);
    let base = alloc(&memory, 4096);
    let mut view = memory.view();
    let values: [u32; 32] = std::array::from_fn(|lane| 100 + lane as u32);
    let rows: [u64; 32] = std::array::from_fn(|lane| base + (lane as u64 / 16) * 1024 + (lane as u64 % 16) * 4);
    view.scatter(Lanes::new(&rows, u32::MAX, 4), &values).unwrap();
    let mut out = [0; 32];
    view.gather(Lanes::new(&rows, u32::MAX, 4), &mut out).unwrap();
    assert_eq!(out, values);
    assert_eq!(view.load::<u32>(base + 1024).unwrap(), 116);
    let two: [u64; 32] = std::array::from_fn(|lane| base + (lane as u64 / 16) * 1024);
    view.gather(Lanes::new(&two, u32::MAX, 4), &mut out).unwrap();
    assert_eq!(out, std::array::from_fn::<u32, 32, _>(|lane| 100 + lane as u32 / 16 * 16));
    let mut pairs = [[0_u32; 32]; 2];
    view.gather_vector(Lanes::new(&two, u32::MAX, 8), pairs.each_mut()).unwrap();
    assert_eq!((pairs[0][3], pairs[1][3], pairs[0][20], pairs[1][20]), (100, 101, 116, 117));
    // The upper half runs over the end: the fault names its first lane there.
    let over: [u64; 32] = std::array::from_fn(|lane| base + (lane as u64 / 16) * (4096 - 32) + (lane as u64 % 16) * 4);
    assert_eq!(view.gather(Lanes::new(&over, u32::MAX, 4), &mut out).unwrap_err().lane, 24);
    assert_eq!(view.scatter(Lanes::new(&over, u32::MAX, 4), &values).unwrap_err().lane, 24);
    let far: [u64; 32] = std::array::from_fn(|lane| base + (lane as u64 / 16) * (1 << 20));
    assert_eq!(view.gather(Lanes::new(&far, u32::MAX, 4), &mut out).unwrap_err().lane, 16);
}

#[test]
fn atomics_of_all_widths() {
    let memory = memory(1 << 30);
    let base = alloc(&memory, 256);
    let mut view = memory.view();
    let mut apply = |start: u32, op, operand| {
        view.store(base, start).unwrap();
        assert_eq!(view.atomic_u32(0, base, op, operand, Order::Relaxed).unwrap(), start);
        view.load::<u32>(base).unwrap()
    };
    let minus = |n: i32| n.wrapping_neg() as u32;
    assert_eq!(apply(u32::MAX, AtomicOp::Add, 2), 1);
    assert_eq!(apply(0b1100, AtomicOp::And, 0b1010), 0b1000);
    assert_eq!(apply(0b1100, AtomicOp::Or, 0b1010), 0b1110);
    assert_eq!(apply(0b1100, AtomicOp::Xor, 0b1010), 0b0110);
    assert_eq!(apply(5, AtomicOp::Exch, 6), 6);
    assert_eq!((apply(5, AtomicOp::MinU, minus(1)), apply(5, AtomicOp::MinS, minus(1))), (5, minus(1)));
    assert_eq!((apply(5, AtomicOp::MaxU, minus(1)), apply(5, AtomicOp::MaxS, minus(1))), (minus(1), 5));
    assert_eq!((apply(4, AtomicOp::Inc, 5), apply(5, AtomicOp::Inc, 5), apply(9, AtomicOp::Inc, 5)), (5, 0, 0));
    assert_eq!((apply(4, AtomicOp::Dec, 5), apply(0, AtomicOp::Dec, 5), apply(9, AtomicOp::Dec, 5)), (3, 5, 5));

    view.store(base + 8, 10u64).unwrap();
    assert_eq!(view.atomic_u64(0, base + 8, AtomicOp::MinS, -4i64 as u64, Order::AcqRel).unwrap(), 10);
    assert_eq!(view.load::<u64>(base + 8).unwrap(), -4i64 as u64);
    let wide = 0x0123_4567_89ab_cdef_0011_2233_4455_6677_u128;
    view.store(base + 16, 3u128).unwrap();
    assert_eq!(view.exchange(base + 16, wide, Order::SeqCst).unwrap(), 3);
    assert_eq!(view.compare_exchange(base + 16, wide, 1, Order::AcqRel).unwrap(), wide);
    assert_eq!(view.compare_exchange(base + 16, wide, 2, Order::Release).unwrap(), 1);
    assert_eq!(view.load_atomic::<u128>(base + 16, Order::Acquire).unwrap(), 1);
    view.store_atomic(base + 2, 7u16, Order::Release).unwrap();
    assert_eq!(view.compare_exchange(base + 2, 7u16, 8, Order::Relaxed).unwrap(), 7);
    assert_eq!(view.update(base + 2, Order::Relaxed, |old: u16| old * 2).unwrap(), 8);
    assert_eq!(view.load::<u16>(base + 2).unwrap(), 16);
    assert_eq!(view.compare_exchange(base + 8, 0u128, 1, Order::Relaxed).unwrap_err().refusal, Refusal::Misaligned);
}

#[test]
fn atomics_of_several_threads_lose_nothing() {
    let memory = memory(1 << 30);
    let base = alloc(&memory, 256);
    memory.fill(base, FillWidth::One, 0, 256).unwrap();
    const EACH: u64 = 5000;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut view = memory.view();
                for _ in 0..EACH {
                    view.atomic_u32(0, base, AtomicOp::Add, 1, Order::Relaxed).unwrap();
                    view.atomic_u64(0, base + 8, AtomicOp::Inc, u64::MAX, Order::Relaxed).unwrap();
                    view.update(base + 16, Order::AcqRel, |old: u128| old + (1 << 64) + 1).unwrap();
                    view.update(base + 32, Order::Relaxed, |old: u32| (f32::from_bits(old) + 1.0).to_bits()).unwrap();
                }
            });
        }
    });
    let mut view = memory.view();
    assert_eq!(u64::from(view.load::<u32>(base).unwrap()), 4 * EACH);
    assert_eq!(view.load::<u64>(base + 8).unwrap(), 4 * EACH);
    assert_eq!(view.load::<u128>(base + 16).unwrap(), u128::from(4 * EACH) << 64 | u128::from(4 * EACH));
    assert_eq!(f32::from_bits(view.load(base + 32).unwrap()), (4 * EACH) as f32);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn gathers_of_the_host_load_what_single_loads_do() {
    let Some(token) = pulp::x86::V4::try_new() else { return };
    let memory = memory(1 << 30);
    let base = alloc(&memory, 4096);
    let mut view = memory.view();
    for word in 0..1024 {
        view.store::<u32>(base + word * 4, word as u32 ^ 0x5a5a).unwrap();
    }
    let bases: [u64; 32] = std::array::from_fn(|lane| base - 64 + (lane as u64 * 37 % 101) * 16);
    for mask in [u32::MAX, 1, 1 << 31, 0x8001_7ff0, 0x0f0f_3c3c] {
        let at = |gather, size| Lanes { offset: 64, gather, ..Lanes::new(&bases, mask, size) };
        let mut words = [[[7_u32; 32]; 4]; 2];
        let mut doubles = [[[7_u64; 32]; 2]; 2];
        for (index, how) in [Gather::OneByOne, Gather::Avx512(token)].into_iter().enumerate() {
            view.gather_vector(at(how, 16), words[index].each_mut()).unwrap();
            view.gather_vector(at(how, 16), doubles[index].each_mut()).unwrap();
        }
        assert_eq!(words[0], words[1]);
        assert_eq!(doubles[0], doubles[1]);
        let lane = mask.trailing_zeros() as usize;
        assert_eq!(words[1][1][lane], (lane as u32 * 37 % 101 * 4 + 1) ^ 0x5a5a);
        assert_eq!(words[1][1].iter().filter(|&&word| word == 7).count(), mask.count_zeros() as usize);
    }
    // The lane that fails is told as without.
    let over = Lanes { offset: 4096, gather: Gather::Avx512(token), ..Lanes::new(&bases, 1 << 9, 4) };
    assert_eq!(view.gather(over, &mut [0_u32; 32]).unwrap_err().lane, 9);
}

#[test]
fn shared_bytes_are_accessed_by_all_lanes_or_by_none() {
    let mut bytes = vec![0; 264];
    let skew = bytes.as_ptr().align_offset(8);
    let bytes = &mut bytes[skew..skew + 256];
    let places: [u64; 32] = std::array::from_fn(|lane| (31 - lane as u64) * 8);
    let rows: [[u32; 32]; 2] = std::array::from_fn(|row| std::array::from_fn(|lane| (row * 100 + lane) as u32));
    assert!(RunMut::of(bytes).scatter(&places, u32::MAX, rows.each_ref()));
    let mut back = [[0_u32; 32]; 2];
    assert!(Run::of(bytes).gather(Gather::OneByOne, &places, u32::MAX, back.each_mut()));
    assert_eq!(back, rows);
    // In ascending order, so that lanes at the same place see each other's updates.
    assert!(RunMut::of(bytes).update(&[16; 32], 0xff, |_, old: u32| old + 1));
    assert!(Run::of(bytes).gather(Gather::OneByOne, &[16; 32], 1, [&mut back[0]]));
    assert_eq!(back[0][0], 29 + 8);
    // One lane outside, or not aligned: nothing happens.
    for bad in [256, 252, 4, u64::MAX - 3] {
        let places: [u64; 32] = std::array::from_fn(|lane| if lane == 5 { bad } else { lane as u64 * 8 });
        assert!(!RunMut::of(bytes).scatter(&places, u32::MAX, [&[9999_u32; 32]; 2]));
        assert!(!Run::of(bytes).gather(Gather::OneByOne, &places, u32::MAX, back.each_mut()));
        assert!(Run::of(bytes).gather(Gather::OneByOne, &places, !(1 << 5), back.each_mut()));
    }
    assert!(!RunMut::of(bytes).update(&[254; 32], 1, |_, old: u32| old));
    assert!(bytes.chunks(4).all(|word| word != 9999_u32.to_le_bytes()));
}
