"""The public interface of a crate as lines of text, from the JSON that rustdoc writes of it.

    python3 packaging/api.py [--flat] target/doc/mayhap.json

Each item stands under the name by which users reach it; below a type are its fields or variants,
its functions, and the traits of other crates and of ours that it implements. What every type has
by itself (auto traits, blanket implementations) is left out. With `--flat` each line begins with
those above it, so that two lists can be compared line by line.
"""

import json
import sys


class Api:
    """One crate: `lines` is its interface."""

    def __init__(self, crate):
        self.index = crate["index"]
        self.lines = []
        self.above = []
        self.flat = []
        self.seen = set()
        root = self.index[str(crate["root"])]
        self.module(root, root["name"])

    def item(self, number):
        """An item by its number; None if it is not public or of another crate."""
        return self.index.get(str(number))

    def line(self, depth, text, single=None):
        """Adds a line, and these single ones in its place to the flat list."""
        self.lines.append("    " * depth + text)
        self.flat.extend(" ".join([*self.above[:depth], one]) for one in single or [text])
        self.above[depth:] = [text.split("<")[0]]

    def module(self, module, path):
        """All that is public in a module, under this path."""
        found = []
        for number in module["inner"]["module"]["items"]:
            self.gather(self.item(number), found)
        modules = []
        for name, item in sorted(found, key=lambda pair: (pair[0], kind(pair[1]))):
            if kind(item) == "module":
                modules.append((f"{path}::{name}", item))
            else:
                self.describe(item, f"{path}::{name}")
        for name, item in modules:
            self.line(0, f"mod {name}")
            self.module(item, name)

    def gather(self, item, found):
        """Adds an item, or those that a `use` brings, with their names."""
        if item is None or item["visibility"] != "public":
            return
        if kind(item) != "use":
            found.append((item["name"], item))
            return
        use = item["inner"]["use"]
        target = self.item(use["id"]) if use["id"] is not None else None
        if target is None:
            found.append((use["name"], {"inner": {"other": use["source"]}, "name": use["name"]}))
        elif not use["is_glob"]:
            found.append((use["name"], target))
        else:
            for number in target["inner"]["module"]["items"]:
                self.gather(self.item(number), found)

    def describe(self, item, path):
        """An item of a module and what it consists of."""
        what, inner = kind(item), item["inner"].get(kind(item))
        if what == "other":
            self.line(0, f"use {inner} as {path}")
            return
        if item["id"] in self.seen:
            self.line(0, f"{what} {path} (again)")
            return
        self.seen.add(item["id"])
        gate = "#[non_exhaustive] " if "non_exhaustive" in str(item["attrs"]) else ""
        if what in ("struct", "enum", "union", "trait"):
            bounds = bounded(inner.get("bounds", []))
            self.line(0, f"{gate}{what} {path}{parameters(inner)}{bounds}{where(inner)}")
            getattr(self, what, self.struct)(inner)
        else:
            self.line(0, member(item, path))

    def struct(self, struct):
        """Public fields, functions and traits."""
        form = struct.get("kind", {"plain": {"fields": struct.get("fields", [])}})
        self.fields(form, 1)
        self.implementations(struct["impls"])

    def fields(self, form, depth):
        """The public fields of a structure or a variant."""
        if not isinstance(form, dict):
            return
        for number in form.get("tuple") or form.get("plain", form.get("struct", {}))["fields"]:
            field = self.item(number) if number is not None else None
            if field and field["visibility"] != {"restricted": {}}:
                self.line(depth, f"{field['name']}: {shown(field['inner']['struct_field'])}")

    def enum(self, enum):
        """Variants, functions and traits."""
        for variant in filter(None, map(self.item, enum["variants"])):
            gate = "#[non_exhaustive] " if "non_exhaustive" in str(variant["attrs"]) else ""
            self.line(1, f"{gate}{variant['name']}")
            self.fields(variant["inner"]["variant"]["kind"], 2)
        self.implementations(enum["impls"])

    def trait(self, trait):
        """What a trait asks of its types, and what it gives them."""
        for item in filter(None, map(self.item, trait["items"])):
            given = item["inner"].get("function", {}).get("has_body")
            self.line(1, member(item, item["name"]) + (" { … }" if given else ""))

    def implementations(self, numbers):
        """Functions of a type itself, then the traits that it implements."""
        functions, traits = [], []
        for impl in filter(None, map(self.item, numbers)):
            inner = impl["inner"]["impl"]
            if inner["is_synthetic"] or inner["blanket_impl"]:
                continue
            if inner["trait"] is None:
                of = shown(inner["for"]) + where(inner)
                for item in filter(None, map(self.item, inner["items"])):
                    if item["visibility"] == "public":
                        functions.append((item["name"], of, member(item, item["name"])))
            elif inner["trait"]["path"] != "StructuralPartialEq":
                traits.append((f"{shown(inner['for'])}{where(inner)}", named(inner["trait"])))
        heads = {of for _, of, _ in functions}
        for _, of, text in sorted(functions):
            self.line(1, text + (f"  // of {of}" if len(heads) > 1 else ""), [text])
        for of in sorted({of for of, _ in traits}):
            names = sorted({name for other, name in traits if other == of})
            self.line(1, f"impl {', '.join(names)} for {of}", [f"impl {name}" for name in names])


def kind(item):
    """The kind of an item: `struct`, `function`, …"""
    return next(iter(item["inner"]))


def member(item, name):
    """A function, a constant, an associated type: all of it but its body."""
    what, inner = next(iter(item["inner"].items()))
    if what == "function":
        header, sig = inner["header"], inner["sig"]
        words = [word for word in ("const", "async", "unsafe") if header[f"is_{word}"]]
        inputs = ", ".join(argument(*pair) for pair in sig["inputs"])
        output = f" -> {shown(sig['output'])}" if sig["output"] else ""
        return f"{' '.join([*words, 'fn'])} {name}{parameters(inner)}({inputs}){output}{where(inner)}"
    if what in ("constant", "assoc_const", "static"):
        return f"const {name}: {shown(inner['type'])}"
    if what == "assoc_type":
        given = f" = {shown(inner['type'])}" if inner["type"] else ""
        return f"type {name}{bounded(inner['bounds'])}{given}"
    if what == "type_alias":
        return f"type {name}{parameters(inner)} = {shown(inner['type'])}"
    return f"{what} {name}"


def argument(name, kind_of):
    """An argument; `self` in the form that is written."""
    text = shown(kind_of)
    if name == "self":
        return {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}.get(text, f"self: {text}")
    return f"{name}: {text}"


def parameters(inner):
    """`<'a, T: Bound, const N: usize>`, or nothing."""
    parts = []
    for parameter in inner["generics"]["params"]:
        what, of = next(iter(parameter["kind"].items()))
        if what == "const":
            parts.append(f"const {parameter['name']}: {shown(of['type'])}")
        elif what == "lifetime" or not of["is_synthetic"]:
            parts.append(parameter["name"] + bounded(of.get("bounds", [])))
    return f"<{', '.join(parts)}>" if parts else ""


def where(inner):
    """` where T: Bound`, or nothing."""
    parts = []
    for predicate in inner["generics"]["where_predicates"]:
        what, of = next(iter(predicate.items()))
        if what == "bound_predicate":
            parts.append(shown(of["type"]) + bounded(of["bounds"]))
    return f" where {', '.join(parts)}" if parts else ""


def bounded(bounds):
    """`: A + B`, or nothing."""
    return f": {joined(bounds)}" if bounds else ""


def joined(bounds):
    """`A + ?Sized + 'a`"""
    parts = []
    for bound in bounds:
        what, of = next(iter(bound.items()))
        if what == "trait_bound":
            parts.append(("?" if of["modifier"] == "maybe" else "") + named(of["trait"]))
        elif what == "outlives":
            parts.append(of)
    return " + ".join(parts)


def named(path):
    """The last name of a path with its arguments."""
    name, args = path["path"].rsplit("::", 1)[-1], path["args"]
    if not isinstance(args, dict):
        return name
    if "parenthesized" in args:
        of = args["parenthesized"]
        output = f" -> {shown(of['output'])}" if of["output"] else ""
        return f"{name}({', '.join(map(shown, of['inputs']))}){output}"
    of = args.get("angle_bracketed", {"args": [], "constraints": []})
    parts = []
    for arg in of["args"]:
        what, value = next(iter(arg.items())) if isinstance(arg, dict) else (arg, "_")
        parts.append({"type": shown, "const": lambda it: it["expr"]}.get(what, str)(value))
    for constraint in of["constraints"]:
        binding = constraint["binding"]
        if "equality" in binding:
            parts.append(f"{constraint['name']} = {shown(binding['equality'].get('type'))}")
        else:
            parts.append(f"{constraint['name']}: {joined(binding['constraint'])}")
    return f"{name}<{', '.join(parts)}>" if parts else name


def shown(kind_of):
    """A type as it is written."""
    if kind_of is None:
        return "_"
    if not isinstance(kind_of, dict):
        return str(kind_of)
    what, of = next(iter(kind_of.items()))
    if what in ("generic", "primitive"):
        return {"never": "!"}.get(of, of)
    if what == "resolved_path":
        return named(of)
    if what == "tuple":
        return f"({', '.join(map(shown, of))}{',' if len(of) == 1 else ''})"
    if what == "slice":
        return f"[{shown(of)}]"
    if what == "array":
        return f"[{shown(of['type'])}; {of['len']}]"
    if what == "borrowed_ref":
        life = f"{of['lifetime']} " if of["lifetime"] else ""
        return f"&{life}{'mut ' if of['is_mutable'] else ''}{shown(of['type'])}"
    if what == "raw_pointer":
        return f"*{'mut' if of['is_mutable'] else 'const'} {shown(of['type'])}"
    if what == "impl_trait":
        return f"impl {joined(of)}"
    if what == "dyn_trait":
        parts = [named(bound["trait"]) for bound in of["traits"]]
        return "dyn " + " + ".join(parts + ([of["lifetime"]] if of["lifetime"] else []))
    if what == "qualified_path":
        owner = shown(of["self_type"])
        owner = f"<{owner} as {named(of['trait'])}>" if of["trait"] and owner != "Self" else owner
        return f"{owner}::{of['name']}"
    if what == "function_pointer":
        output = of["sig"]["output"]
        inputs = ", ".join(shown(pair[1]) for pair in of["sig"]["inputs"])
        return f"fn({inputs})" + (f" -> {shown(output)}" if output else "")
    return what


if __name__ == "__main__":
    with open(sys.argv[-1], encoding="utf-8") as file:
        api = Api(json.load(file))
    print("\n".join(api.flat if "--flat" in sys.argv else api.lines))
