//! A writer of Java object streams, byte for byte as a JVM writes them.

use super::stream::MAGIC;

/// A class to write: fields in the JVM's order, which is primitives by name, then the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) uid: i64,
    pub(crate) flags: u8,
    /// Type as in the stream (`I`, `D`; for objects and arrays the whole signature) and name.
    pub(crate) fields: &'a [(&'a str, &'a str)],
    pub(crate) parent: Option<&'a ClassSpec<'a>>,
}

/// Flags of a plain class, of one with its own `writeObject`, of an enum.
const SERIALIZABLE: u8 = 0x02;
pub(crate) const WRITE_METHOD: u8 = 0x03;
const ENUM: u8 = 0x12;

impl<'a> ClassSpec<'a> {
    /// A plain class without fields and parent.
    pub(crate) const fn plain(name: &'a str, uid: i64) -> Self {
        Self { name, uid, flags: SERIALIZABLE, fields: &[], parent: None }
    }
}

/// `[J`.
pub(crate) const LONGS: ClassSpec<'static> = ClassSpec::plain("[J", 8_655_923_659_555_304_851);

/// `java.lang.Enum`.
const ENUM_BASE: ClassSpec<'static> =
    ClassSpec { name: "java.lang.Enum", uid: 0, flags: ENUM, fields: &[], parent: None };

/// A stream being written.
#[derive(Debug)]
pub(crate) struct Writer {
    out: Vec<u8>,
    /// The class or signature behind each handle, so that the next use refers to it.
    handles: Vec<Option<String>>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self { out: MAGIC.to_vec(), handles: Vec::new() }
    }

    /// The stream written so far.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// The place of the next byte.
    pub(crate) fn position(&self) -> usize {
        self.out.len()
    }

    /// Bytes as they are: numbers, elements.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(crate) fn null(&mut self) {
        self.out.push(0x70);
    }

    /// The end of the data of a `writeObject`.
    pub(crate) fn end_blocks(&mut self) {
        self.out.push(0x78);
    }

    /// Begins an object; its fields follow, its ancestors' first.
    pub(crate) fn object(&mut self, class: &ClassSpec<'_>) {
        self.out.push(0x73);
        self.class(class);
        self.handles.push(None);
    }

    /// Begins an array; its elements follow.
    pub(crate) fn array(&mut self, class: &ClassSpec<'_>, len: u32) {
        self.out.push(0x75);
        self.class(class);
        self.handles.push(None);
        self.raw(&len.to_be_bytes());
    }

    /// An enum constant.
    pub(crate) fn constant(&mut self, class_name: &str, name: &str) {
        self.out.push(0x7E);
        let parent = Some(&ENUM_BASE);
        self.class(&ClassSpec { name: class_name, uid: 0, flags: ENUM, fields: &[], parent });
        self.handles.push(None);
        self.text(name);
    }

    /// A string without back references.
    pub(crate) fn text(&mut self, text: &str) {
        self.out.push(0x74);
        self.utf(text);
        self.handles.push(None);
    }

    fn utf(&mut self, text: &str) {
        // The names written belong to classes and fields, or were read from such a stream.
        self.raw(&(text.len() as u16).to_be_bytes());
        self.raw(text.as_bytes());
    }

    /// A reference to something written before; returns whether there was one.
    fn refer(&mut self, key: &str) -> bool {
        let Some(at) = self.handles.iter().position(|handle| handle.as_deref() == Some(key)) else {
            return false;
        };
        self.out.push(0x71);
        self.raw(&(0x7E_0000 + at as u32).to_be_bytes());
        true
    }

    fn class(&mut self, class: &ClassSpec<'_>) {
        let key = format!("class {}", class.name);
        if self.refer(&key) {
            return;
        }
        self.out.push(0x72);
        self.utf(class.name);
        self.raw(&class.uid.to_be_bytes());
        self.handles.push(Some(key));
        self.out.push(class.flags);
        self.raw(&(class.fields.len() as u16).to_be_bytes());
        for (signature, name) in class.fields {
            self.raw(&signature.as_bytes()[..1]);
            self.utf(name);
            if signature.len() > 1 && !self.refer(signature) {
                self.out.push(0x74);
                self.utf(signature);
                self.handles.push(Some((*signature).to_owned()));
            }
        }
        self.out.push(0x78);
        match class.parent {
            Some(parent) => self.class(parent),
            None => self.null(),
        }
    }
}
