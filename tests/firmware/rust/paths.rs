// SPDX-License-Identifier: GPL-2.0-or-later
//! Rust without its standard library: generics, closures, matches, iterators, some paths left out.
#![no_std]
#![crate_type = "staticlib"]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// Named by the precompiled `core`, which unwinds; nothing here does.
#[no_mangle]
pub extern "C" fn rust_eh_personality() {}

#[derive(Clone, Copy)]
enum Command {
    Add(u32),
    Rotate { by: u32 },
    Invert,
    Reset,
}

trait Step {
    fn step(&self, value: u32) -> u32;
}

impl Step for Command {
    #[inline(never)]
    fn step(&self, value: u32) -> u32 {
        match *self {
            Command::Add(n) => value.wrapping_add(n),
            Command::Rotate { by } if by < 32 => value.rotate_left(by),
            Command::Rotate { .. } => 0,
            Command::Invert => !value,
            Command::Reset => {
                1
            }
        }
    }
}

/// A copy for each type.
#[inline(never)]
fn folded<T: Copy + Into<u32>>(items: &[T]) -> u32 {
    let mut sum = 0u32;
    for &item in items {
        let item: u32 = item.into();
        if item > 250 {
            sum ^= item;
        } else {
            sum = sum.wrapping_mul(31).wrapping_add(item);
        }
    }
    sum
}

fn run(commands: &[Command], start: u32) -> u32 {
    commands.iter().fold(start, |value, command| command.step(value))
}

#[inline(never)]
fn checked(value: u32) -> Option<u32> {
    if value == 0xdead_beef {
        return None;
    }
    value.checked_add(1)
}

#[no_mangle]
pub extern "C" fn rust_work(round: u32) -> u32 {
    let commands = [
        Command::Add(round),
        Command::Rotate { by: round & 7 },
        Command::Invert,
    ];
    let mut value = run(&commands, round);
    if round > 1000 {
        value = Command::Reset.step(value);
    }
    value ^= folded(&[1u8, 2, 3, 255]);
    value ^= folded(&[1000u16, 2000, round as u16]);
    checked(value).unwrap_or(7)
}
