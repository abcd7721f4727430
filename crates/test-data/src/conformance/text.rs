//! Requests as one types them, answers as bytes.

/// The words of a line: separated by spaces; in quotes `\xNN`, `\r`, `\n` and `\\` are bytes.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut rest = line.bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' => {}
            b'\'' => {
                let mut word = Vec::new();
                while let Some(byte) = rest.next().filter(|&byte| byte != b'\'') {
                    word.push(if byte == b'\\' { escaped(&mut rest) } else { byte });
                }
                words.push(word);
            }
            byte => {
                let mut word = vec![byte];
                while let Some(byte) = rest.next_if(|&byte| byte != b' ') {
                    word.push(byte);
                }
                words.push(word);
            }
        }
    }
    words
}

fn escaped(rest: &mut impl Iterator<Item = u8>) -> u8 {
    let kind = rest.next().unwrap();
    let mut digit = || char::from(rest.next().unwrap()).to_digit(16).unwrap() as u8;
    match kind {
        b'r' => b'\r',
        b'n' => b'\n',
        b'x' => digit() * 16 + digit(),
        other => other,
    }
}

/// The length of the first answer in these bytes; `None` if there is no whole one.
pub fn answer_len(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|end| end == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&bytes[1..line - 2]).ok()?.parse::<i64>().ok();
    let many = |count: i64| {
        let mut end = line;
        for _ in 0..count {
            end += answer_len(&bytes[end..])?;
        }
        Some(end)
    };
    match bytes[0] {
        b'+' | b'-' | b':' | b'_' | b'#' | b',' => Some(line),
        b'$' | b'=' => match number()? {
            -1 => Some(line),
            len => {
                let end = line + usize::try_from(len).ok()? + 2;
                (bytes.get(end - 2..end)? == b"\r\n").then_some(end)
            }
        },
        b'*' | b'~' => many(number()?.max(0)),
        b'%' => many(number()? * 2),
        _ => None,
    }
}
