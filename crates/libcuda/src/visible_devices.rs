//! `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`: which of the machine's devices a process sees, and in which order. What is in no
//! manual is as NVIDIA's driver 580 answered.
use std::ffi::OsString;

use warploom_driver::{DriverError, DriverResult, ErrorCode};

/// The variables, as they were when the settings were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VisibleDevices {
    devices: Option<String>,
    order: Option<String>,
}

impl VisibleDevices {
    /// Reads the variables through `variable`.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<OsString>) -> VisibleDevices {
        let text = |name| variable(name).map(|value| value.to_string_lossy().into_owned());
        VisibleDevices { devices: text("CUDA_VISIBLE_DEVICES"), order: text("CUDA_DEVICE_ORDER") }
    }

    /// The numbers of the visible devices among `count`, whose UUIDs `uuid` gives.
    ///
    /// # Errors
    /// `NoDevice` if none is visible; `InvalidDevice` if one is named twice, and for an order that there is not.
    pub(crate) fn of(&self, count: u32, uuid: impl Fn(u32) -> [u8; 16]) -> DriverResult<Vec<u32>> {
        // All devices are equally fast: either order is that of their addresses.
        if let Some(order) = self.order.as_deref().filter(|order| !["FASTEST_FIRST", "PCI_BUS_ID"].contains(order)) {
            let reason = format!("CUDA_DEVICE_ORDER={order}: FASTEST_FIRST or PCI_BUS_ID is expected");
            return Err(DriverError::new(ErrorCode::InvalidDevice, reason));
        }
        let Some(text) = &self.devices else { return Ok((0..count).collect()) };
        let names: Vec<String> = (0..count).map(|number| uuid_name(uuid(number))).collect();
        // The first element says what all are; the list ends at one that is no device.
        let by_uuid = text.starts_with("GPU-");
        let number = |element: &str| if by_uuid { with_uuid(element, &names) } else { with_index(element, count) };
        let mut visible = Vec::new();
        for device in text.split(',').map_while(number) {
            if visible.contains(&device) {
                let reason = format!("CUDA_VISIBLE_DEVICES={text} names device {device} twice");
                return Err(DriverError::new(ErrorCode::InvalidDevice, reason));
            }
            visible.push(device);
        }
        if visible.is_empty() {
            let reason = format!("CUDA_VISIBLE_DEVICES={text} makes none of the {count} devices visible");
            return Err(DriverError::new(ErrorCode::NoDevice, reason));
        }
        Ok(visible)
    }
}

/// `GPU-12345678-1234-1234-1234-123456789abc`.
fn uuid_name(uuid: [u8; 16]) -> String {
    let dashes = [4, 6, 8, 10];
    let digits =
        uuid.iter().enumerate().map(|(at, byte)| format!("{}{byte:02x}", if dashes.contains(&at) { "-" } else { "" }));
    format!("GPU-{}", digits.collect::<String>())
}

/// The only device whose UUID starts so.
fn with_uuid(element: &str, names: &[String]) -> Option<u32> {
    let start = element.strip_prefix("GPU-")?.trim_end().to_ascii_lowercase();
    let mut found =
        names.iter().enumerate().filter(|(_, name)| !start.is_empty() && name["GPU-".len()..].starts_with(&start));
    let (number, _) = found.next()?;
    found.next().is_none().then_some(number as u32)
}

/// The device with a number, which is read as `strtol` does: what stands behind the digits does not count.
fn with_index(element: &str, count: u32) -> Option<u32> {
    let text = element.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let magnitude = digits[..len]
        .bytes()
        .fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    // An `int`: what is above that wraps around.
    let number = if negative { -magnitude } else { magnitude } as i32;
    u32::try_from(number).ok().filter(|number| len > 0 && *number < count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UUIDs as of a recorded device, which differ in the second half of the first byte.
    fn uuid(number: u32) -> [u8; 16] {
        let mut uuid = [0x47, 0xdb, 0x42, 0x9b, 0x39, 0x6e, 0xa5, 0x33, 0xe7, 0x8f, 0xca, 0x2e, 0xcf, 0x1a, 0xd5, 0x79];
        uuid[0] += number as u8;
        uuid
    }

    fn visible(devices: &str, count: u32) -> Result<Vec<u32>, ErrorCode> {
        let visible = VisibleDevices { devices: Some(devices.to_owned()), order: None };
        visible.of(count, uuid).map_err(|error| error.code())
    }

    #[test]
    fn one_device_is_named_as_recorded() {
        let full = "GPU-47db429b-396e-a533-e78f-ca2ecf1ad579";
        let seen = [
            "0",
            "0,1",
            "0,-1",
            "0,1,0",
            "0,foo",
            " 0",
            "0 ",
            "00",
            "0x0",
            "+0",
            "0foo",
            "0,",
            "0,,0",
            "4294967296",
            "-0",
        ];
        for text in seen.into_iter().chain([full, "GPU-47db", "GPU-4", "GPU-47DB429B-396E", "GPU-47db,GPU-ff"]) {
            assert_eq!(visible(text, 1), Ok(vec![0]), "{text:?}");
        }
        assert_eq!(visible(&format!("{full},0"), 1), Ok(vec![0]));
        assert_eq!(visible(&format!("0,{full}"), 1), Ok(vec![0]));
        assert_eq!(visible(&format!("{full} "), 1), Ok(vec![0]));
        let none = [
            "",
            " ",
            "-1",
            "1",
            "-1,0",
            "1,0",
            "foo",
            "foo,0",
            ",0",
            "NoDevFiles",
            "GPU-",
            "GPU-ffffffff",
            "99999999999",
        ];
        for text in none.into_iter().chain([
            "47db429b-396e-a533-e78f-ca2ecf1ad579",
            "gpu-47db",
            " GPU-47db",
            "MIG-GPU-47db/0/0",
        ]) {
            assert_eq!(visible(text, 1), Err(ErrorCode::NoDevice), "{text:?}");
        }
        for text in ["0,0", "0 , 0"] {
            assert_eq!(visible(text, 1), Err(ErrorCode::InvalidDevice), "{text:?}");
        }
    }

    #[test]
    fn several_devices_are_chosen_and_put_in_order() {
        assert_eq!(visible("2,0", 4), Ok(vec![2, 0]));
        assert_eq!(visible("3,7,1", 4), Ok(vec![3]));
        assert_eq!(visible("GPU-49,GPU-47db", 4), Ok(vec![2, 0]));
        // No name of one device.
        assert_eq!(visible("GPU-4", 4), Err(ErrorCode::NoDevice));
    }

    #[test]
    fn the_order_is_one_of_two() {
        let of = |order: &str| {
            VisibleDevices { devices: None, order: Some(order.to_owned()) }.of(2, uuid).map_err(|error| error.code())
        };
        assert_eq!(of("PCI_BUS_ID"), Ok(vec![0, 1]));
        assert_eq!(of("FASTEST_FIRST"), Ok(vec![0, 1]));
        assert_eq!(of("foo"), Err(ErrorCode::InvalidDevice));
        assert_eq!(of(""), Err(ErrorCode::InvalidDevice));
    }
}
