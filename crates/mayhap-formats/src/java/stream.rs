//! A bounded reader of Java object streams (`ObjectOutputStream`).
//!
//! | token | meaning | accepted |
//! |---|---|---|
//! | 70, 71 | null, back reference | yes |
//! | 72 | class descriptor | yes, without annotations |
//! | 73 | object | of classes with flags 02 and 03 |
//! | 74 | string | UTF-8 without characters of two `\uXXXX` and without NUL |
//! | 75 | array | of ints and longs |
//! | 77, 7a, 78 | block data, its end | behind an object's fields |
//! | 7e | enum constant | yes |
//! | 76, 79, 7b, 7c, 7d | class, reset, exception, long string, proxy | refused |
//!
//! Source: Java Object Serialization Specification, 6.4. Arrays and numbers are positions in the
//! bytes, so nothing is allocated by declared sizes.

use crate::limits::not_zero;
use crate::{Error, Reader};
use std::ops::Range;

/// The start of every stream: magic and version.
pub(crate) const MAGIC: [u8; 4] = [0xAC, 0xED, 0, 5];

/// Handles that a stream may give out; the filters read here need at most 25.
const MAX_HANDLES: usize = 64;
/// The limit on nested objects.
const MAX_DEPTH: usize = 16;
/// Fields of a class.
const MAX_FIELDS: u16 = 32;

/// A class descriptor.
#[derive(Debug, Clone)]
pub(crate) struct Class<'a> {
    pub(crate) name: &'a str,
    pub(crate) uid: i64,
    flags: u8,
    fields: Vec<(u8, &'a str)>,
    parent: Option<usize>,
}

/// The value of a field, or an element of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Text(&'a str),
    /// A primitive, by its place.
    Number(usize),
    /// An object, array or enum constant.
    Handle(usize),
}

/// An object: the fields of all its classes, its ancestors' first.
#[derive(Debug, Clone)]
pub(crate) struct Object<'a> {
    pub(crate) class: usize,
    pub(crate) fields: Vec<(u8, &'a str, Value<'a>)>,
    /// The position of its block data.
    pub(crate) blocks: Vec<Range<usize>>,
}

#[derive(Debug, Clone)]
enum Item<'a> {
    /// Its contents are being read.
    Unfinished,
    Class(Class<'a>),
    Text(&'a str),
    Object(Object<'a>),
    Array {
        element: u8,
        at: Range<usize>,
    },
    Constant {
        class: usize,
        name: &'a str,
    },
}

/// A stream of one object.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    bytes: &'a [u8],
    reader: Reader<'a>,
    items: Vec<Item<'a>>,
    /// Classes that write only block data, whatever fields they declare.
    blocks_only: fn(&str) -> bool,
}

impl<'a> Stream<'a> {
    /// Reads a stream that holds one object and nothing after it.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`] without the magic, [`Error::Truncated`], [`Error::TooLarge`],
    /// [`Error::BadField`], [`Error::TrailingBytes`].
    pub(crate) fn read(
        bytes: &'a [u8],
        blocks_only: fn(&str) -> bool,
    ) -> Result<(Self, Object<'a>), Error> {
        let mut stream = Self { bytes, reader: Reader::new(bytes), items: Vec::new(), blocks_only };
        let is_stream = stream.reader.array("magic") == Ok(MAGIC);
        Error::check_format(is_stream, "Java stream", "it does not begin with AC ED 00 05")?;
        let root = stream.value(0)?;
        stream.reader.clone().finish()?;
        let root = stream.object("root", root)?.clone();
        Ok((stream, root))
    }

    /// The class of this handle.
    pub(crate) fn class(&self, handle: usize) -> Result<&Class<'a>, Error> {
        match self.items.get(handle) {
            Some(Item::Class(class)) => Ok(class),
            _ => Err(Error::bad("Java class", "a class descriptor", format_args!("#{handle}"))),
        }
    }

    /// The object of a value.
    pub(crate) fn object(
        &self,
        field: &'static str,
        value: Value<'a>,
    ) -> Result<&Object<'a>, Error> {
        match self.item(value) {
            Some(Item::Object(object)) => Ok(object),
            _ => Err(Error::bad(field, "an object", format_args!("{value:?}"))),
        }
    }

    /// The class name and constant name of an enum value.
    pub(crate) fn constant(&self, value: Value<'a>) -> Option<(&'a str, &'a str)> {
        match self.item(value) {
            Some(&Item::Constant { class, name }) => Some((self.class(class).ok()?.name, name)),
            _ => None,
        }
    }

    /// The position of the elements of an array value; `element` is `b'I'` or `b'J'`.
    pub(crate) fn array(
        &self,
        field: &'static str,
        value: Value<'a>,
        element: u8,
    ) -> Result<Range<usize>, Error> {
        match self.item(value) {
            Some(Item::Array { element: found, at }) if *found == element => Ok(at.clone()),
            _ => Err(Error::bad(field, "an array of its type", format_args!("{value:?}"))),
        }
    }

    fn item(&self, value: Value<'a>) -> Option<&Item<'a>> {
        if let Value::Handle(handle) = value { self.items.get(handle) } else { None }
    }

    /// The value of a field; `code` is its type as in a descriptor: `b'I'`, `b'D'`, `b'L'`, `b'['`.
    pub(crate) fn field(
        object: &Object<'a>,
        code: u8,
        name: &'static str,
    ) -> Result<Value<'a>, Error> {
        object
            .fields
            .iter()
            .find(|field| (field.0, field.1) == (code, name))
            .map(|field| field.2)
            .ok_or_else(|| Error::bad(name, "a field of its type", "missing"))
    }

    /// An int field and its position.
    pub(crate) fn int(
        &self,
        object: &Object<'a>,
        name: &'static str,
    ) -> Result<(i32, usize), Error> {
        let (bytes, at) = self.number(object, b'I', name)?;
        Ok((i32::from_be_bytes(bytes), at))
    }

    /// A double field.
    pub(crate) fn double(&self, object: &Object<'a>, name: &'static str) -> Result<f64, Error> {
        Ok(f64::from_be_bytes(self.number(object, b'D', name)?.0))
    }

    fn number<const N: usize>(
        &self,
        object: &Object<'a>,
        code: u8,
        name: &'static str,
    ) -> Result<([u8; N], usize), Error> {
        let value = Self::field(object, code, name)?;
        let Value::Number(at) = value else {
            return Err(Error::bad(name, "a number", format_args!("{value:?}")));
        };
        Ok((Reader::new(&self.bytes[at..]).array(name)?, at))
    }

    fn token(&mut self) -> Result<u8, Error> {
        self.reader.u8("Java token")
    }

    fn unexpected<T>(&self, token: u8) -> Result<T, Error> {
        let at = self.reader.position() - 1;
        let found = format_args!("{token:#04x} at {at}");
        Err(Error::bad("Java token", "one that belongs there", found))
    }

    fn new_handle(&mut self, item: Item<'a>) -> Result<usize, Error> {
        let handle = self.items.len();
        check_limit("Java handles", MAX_HANDLES, handle + 1)?;
        self.items.push(item);
        Ok(handle)
    }

    fn reference(&mut self) -> Result<usize, Error> {
        let handle = self.reader.i32_be("Java reference")?;
        let index = handle.checked_sub(0x7E_0000).and_then(|index| usize::try_from(index).ok());
        match index {
            Some(index) if index < self.items.len() => Ok(index),
            _ => Err(Error::bad("Java reference", "a handle given out", handle)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        check_limit("nesting of Java objects", MAX_DEPTH, depth)?;
        match self.token()? {
            0x70 => Ok(Value::Null),
            0x71 => {
                let handle = self.reference()?;
                match self.items[handle] {
                    Item::Text(text) => Ok(Value::Text(text)),
                    Item::Unfinished | Item::Class(_) => self.unexpected(0x71),
                    _ => Ok(Value::Handle(handle)),
                }
            }
            0x73 => self.new_object(depth),
            0x74 => {
                let text = self.utf("text")?;
                self.new_handle(Item::Text(text))?;
                Ok(Value::Text(text))
            }
            0x75 => self.new_array(depth),
            0x7E => {
                let class = self.class_descriptor(depth)?;
                let handle = self.new_handle(Item::Unfinished)?;
                let value = self.value(depth + 1)?;
                let Value::Text(name) = value else {
                    return Err(Error::bad(
                        "name of a constant",
                        "text",
                        format_args!("{value:?}"),
                    ));
                };
                self.items[handle] = Item::Constant { class, name };
                Ok(Value::Handle(handle))
            }
            other => self.unexpected(other),
        }
    }

    fn utf(&mut self, field: &'static str) -> Result<&'a str, Error> {
        let len = self.reader.u16_be(field)?;
        let bytes = self.reader.take(field, u64::from(len))?;
        std::str::from_utf8(bytes).map_err(|_| Error::bad(field, "UTF-8", "other bytes"))
    }

    fn class_descriptor(&mut self, depth: usize) -> Result<usize, Error> {
        match self.optional_class_descriptor(depth)? {
            Some(class) => Ok(class),
            None => self.unexpected(0x70),
        }
    }

    fn optional_class_descriptor(&mut self, depth: usize) -> Result<Option<usize>, Error> {
        check_limit("nesting of Java classes", MAX_DEPTH, depth)?;
        match self.token()? {
            0x70 => Ok(None),
            0x71 => {
                let handle = self.reference()?;
                self.class(handle)?;
                Ok(Some(handle))
            }
            0x72 => {
                let name = self.utf("class name")?;
                let uid = self.reader.i64_be("serialVersionUID")?;
                let handle = self.new_handle(Item::Unfinished)?;
                let flags = self.reader.u8("class flags")?;
                let are_known = matches!(flags, 0x02 | 0x03 | 0x12);
                Error::check(are_known, "class flags", "02, 03 or 12", flags)?;
                let fields = self.field_descriptors(depth)?;
                let end = self.token()?;
                if end != 0x78 {
                    return self.unexpected(end);
                }
                let parent = self.optional_class_descriptor(depth + 1)?;
                self.items[handle] = Item::Class(Class { name, uid, flags, fields, parent });
                Ok(Some(handle))
            }
            other => self.unexpected(other),
        }
    }

    fn field_descriptors(&mut self, depth: usize) -> Result<Vec<(u8, &'a str)>, Error> {
        let count = self.reader.u16_be("number of fields")?;
        check_limit("number of fields", MAX_FIELDS.into(), count.into())?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let code = self.reader.u8("field type")?;
            let name = self.utf("field name")?;
            match code {
                b'I' | b'D' | b'J' => {}
                b'L' | b'[' => {
                    let of = self.value(depth + 1)?;
                    let is_text = matches!(of, Value::Text(_));
                    Error::check(is_text, "class of a field", "text", format_args!("{of:?}"))?;
                }
                _ => return Err(Error::bad("field type", "I, J, D, L or [", code)),
            }
            fields.push((code, name));
        }
        Ok(fields)
    }

    fn new_array(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        let class = self.class_descriptor(depth)?;
        let element = match self.class(class)?.name {
            "[I" => b'I',
            "[J" => b'J',
            name => return Err(Error::bad("class of an array", "[I or [J", name)),
        };
        let handle = self.new_handle(Item::Unfinished)?;
        let len = self.reader.i32_be("length of an array")?;
        let Ok(len) = u32::try_from(len) else {
            return Err(Error::bad("length of an array", "0 to 2147483647", len));
        };
        let start = self.reader.position();
        self.reader.take("array", u64::from(len) * if element == b'I' { 4 } else { 8 })?;
        self.items[handle] = Item::Array { element, at: start..self.reader.position() };
        Ok(Value::Handle(handle))
    }

    fn new_object(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        let class = self.class_descriptor(depth)?;
        let handle = self.new_handle(Item::Unfinished)?;
        let mut chain = Vec::new();
        let mut next = Some(class);
        while let Some(class) = next {
            // A chain cannot be longer than the classes there are: parents are read before the
            // class itself is finished.
            chain.push(class);
            next = self.class(class)?.parent;
        }
        let mut object = Object { class, fields: Vec::new(), blocks: Vec::new() };
        for class in chain.into_iter().rev() {
            let Class { name, flags, fields, .. } = self.class(class)?.clone();
            let fields = if (self.blocks_only)(name) { Vec::new() } else { fields };
            for (code, name) in fields {
                let is_new = object.fields.iter().all(|field| field.1 != name);
                Error::check(is_new, "field name", "one that is new", name)?;
                let value = match code {
                    b'I' => self.primitive(4)?,
                    b'D' | b'J' => self.primitive(8)?,
                    _ => self.value(depth + 1)?,
                };
                object.fields.push((code, name, value));
            }
            if flags & 1 != 0 {
                self.blocks(&mut object.blocks)?;
            }
        }
        self.items[handle] = Item::Object(object);
        Ok(Value::Handle(handle))
    }

    fn primitive(&mut self, len: u64) -> Result<Value<'a>, Error> {
        let at = self.reader.position();
        self.reader.take("number", len)?;
        Ok(Value::Number(at))
    }

    /// Block data up to its end. Empty blocks could be repeated without end and are rejected.
    fn blocks(&mut self, blocks: &mut Vec<Range<usize>>) -> Result<(), Error> {
        loop {
            let len = match self.token()? {
                0x77 => u32::from(self.reader.u8("length of a block")?),
                0x7A => {
                    let len = self.reader.i32_be("length of a block")?;
                    u32::try_from(len)
                        .map_err(|_| Error::bad("length of a block", "1 to 2147483647", len))?
                }
                0x78 => return Ok(()),
                other => return self.unexpected(other),
            };
            not_zero("length of a block", u64::from(len))?;
            let start = self.reader.position();
            self.reader.take("block", u64::from(len))?;
            blocks.push(start..self.reader.position());
        }
    }
}

fn check_limit(field: &'static str, limit: usize, found: usize) -> Result<(), Error> {
    Error::check_limit(field, limit as u64, found as u64)
}
