#include "ingest/source.h"

#include <cstdlib>
#include <cstring>

namespace fastcql::ingest {

namespace {

bool starts_with(const std::string& text, const char* prefix) { return text.compare(0, std::strlen(prefix), prefix) == 0; }

int64_t unit_of(char letter) {
    switch (letter) {
        case 's': return 1;
        case 'm': return 1000;
        case 'u': return 1000000;
        case 'n': return 1000000000;
        default: return 0;
    }
}

const char* name_of_unit(int64_t unit) { return unit == 1 ? "s" : unit == 1000 ? "ms" : unit == 1000000 ? "us" : "ns"; }

void set_number(Source& out, Shape shape, uint8_t width, bool is_signed = true) {
    out.shape = shape;
    out.width = width;
    out.is_signed = is_signed;
}

void set_bytes(Source& out, Shape shape, Layout layout) {
    out.shape = shape;
    out.layout = layout;
}

// Reads a decimal number at *at*, which moves behind it; false if there is none.
bool read_number(const char*& at, int64_t& out) {
    char* end = nullptr;
    out = std::strtoll(at, &end, 10);
    if (end == at) return false;
    at = end;
    return true;
}

bool read_decimal(const char* at, Source& out) {
    int64_t precision = 0, scale = 0, bits = 128;
    if (!read_number(at, precision) || *at++ != ',' || !read_number(at, scale)) return false;
    if (*at == ',' && (++at, !read_number(at, bits))) return false;
    if (*at || precision < 1 || precision > 76 || scale < -1000 || scale > 1000) return false;
    if (bits != 32 && bits != 64 && bits != 128 && bits != 256) return false;
    set_number(out, Shape::Decimal, static_cast<uint8_t>(bits / 8));
    out.precision = static_cast<int32_t>(precision);
    out.scale = static_cast<int32_t>(scale);
    return true;
}

bool read_one_letter(char letter, Source& out) {
    switch (letter) {
        case 'n': out.shape = Shape::Null; return true;
        case 'b': out.shape = Shape::Boolean; return true;
        case 'c': set_number(out, Shape::Integer, 1); return true;
        case 'C': set_number(out, Shape::Integer, 1, false); return true;
        case 's': set_number(out, Shape::Integer, 2); return true;
        case 'S': set_number(out, Shape::Integer, 2, false); return true;
        case 'i': set_number(out, Shape::Integer, 4); return true;
        case 'I': set_number(out, Shape::Integer, 4, false); return true;
        case 'l': set_number(out, Shape::Integer, 8); return true;
        case 'L': set_number(out, Shape::Integer, 8, false); return true;
        case 'e': set_number(out, Shape::Floating, 2); return true;
        case 'f': set_number(out, Shape::Floating, 4); return true;
        case 'g': set_number(out, Shape::Floating, 8); return true;
        case 'u': set_bytes(out, Shape::Text, Layout::Offsets32); return true;
        case 'U': set_bytes(out, Shape::Text, Layout::Offsets64); return true;
        case 'z': set_bytes(out, Shape::Binary, Layout::Offsets32); return true;
        case 'Z': set_bytes(out, Shape::Binary, Layout::Offsets64); return true;
        default: return false;
    }
}

// Reads formats of times; for others *out* is unchanged.
bool read_time(const std::string& format, Source& out) {
    const char kind = format[1], unit = format[2];
    if (kind == 'd' && (unit == 'D' || unit == 'm')) {
        set_number(out, Shape::Date, unit == 'D' ? 4 : 8);
        return true;
    }
    if (kind == 'i') {
        if (unit == 'M') set_number(out, Shape::Months, 4);
        if (unit == 'D') set_number(out, Shape::DayTime, 8);
        if (unit == 'n') set_number(out, Shape::MonthDayNano, 16);
        return out.width != 0;
    }
    out.unit = unit_of(unit);
    if (!out.unit) return false;
    if (kind == 't') set_number(out, Shape::Time, out.unit <= 1000 ? 4 : 8);
    if (kind == 's') set_number(out, Shape::Timestamp, 8);
    if (kind == 'D') set_number(out, Shape::Elapsed, 8);
    out.is_zoned = kind == 's' && format.size() > 4;
    return out.width != 0;
}

void read_nested(const std::string& format, Source& out) {
    if (format == "+l" || format == "+L") {
        set_bytes(out, Shape::List, format == "+l" ? Layout::Offsets32 : Layout::Offsets64);
    } else if (format == "+vl" || format == "+vL") {
        set_bytes(out, Shape::List, format == "+vl" ? Layout::Ranges32 : Layout::Ranges64);
    } else if (starts_with(format, "+w:")) {
        const char* at = format.c_str() + 3;
        if (read_number(at, out.size) && !*at && out.size >= 0 && out.size <= INT32_MAX) set_bytes(out, Shape::List, Layout::Fixed);
    } else if (format == "+m") {
        set_bytes(out, Shape::Map, Layout::Offsets32);
    } else if (format == "+s") {
        out.shape = Shape::Struct;
    } else if (format == "+r") {
        out.shape = Shape::RunEnds;
    }
}

void read_format(const std::string& format, Source& out) {
    if (format.size() == 1) {
        read_one_letter(format[0], out);
    } else if (format == "vu" || format == "vz") {
        set_bytes(out, format == "vu" ? Shape::Text : Shape::Binary, Layout::View);
    } else if (starts_with(format, "w:")) {
        const char* at = format.c_str() + 2;
        if (read_number(at, out.size) && !*at && out.size >= 0 && out.size <= INT32_MAX) set_bytes(out, Shape::Binary, Layout::Fixed);
    } else if (starts_with(format, "d:")) {
        read_decimal(format.c_str() + 2, out);
    } else if (format[0] == 't' && format.size() >= 3) {
        read_time(format, out);
    } else if (format[0] == '+') {
        read_nested(format, out);
    }
}

// Key-value pairs: a count, then length and bytes of each key and value. Their total size is not stored.
void read_metadata(const char* metadata, Source& out) {
    const auto number = [&metadata] {
        int32_t v;
        std::memcpy(&v, metadata, sizeof v);
        metadata += sizeof v;
        return v;
    };
    const auto text = [&](std::string& found) {
        const int32_t size = number();
        if (size < 0) return false;
        found.assign(metadata, static_cast<size_t>(size));
        metadata += size;
        return true;
    };
    std::string key, value;
    for (int32_t left = number(); left > 0; --left) {
        if (!text(key) || !text(value)) return;
        if (key == "ARROW:extension:name") out.extension = value;
    }
}

// Handles extensions whose values differ from their storage; others are read as their storage.
void apply_extension(Source& out) {
    if (out.extension == "arrow.opaque") out.shape = Shape::Other;
    if (out.extension == "arrow.bool8" && out.shape == Shape::Integer && out.width == 1) out.shape = Shape::Boolean;
}

// Number of children of the shape; -1: any number.
int64_t children_of(Shape shape) {
    switch (shape) {
        case Shape::List:
        case Shape::Map: return 1;
        case Shape::RunEnds: return 2;
        case Shape::Struct:
        case Shape::Other: return -1;
        default: return 0;
    }
}

// Returns an error if the types of the children are invalid.
const char* wrong_children(const Source& source) {
    if (source.shape == Shape::Map) {
        const Source& entries = source.children[0];
        if (entries.shape != Shape::Struct || entries.children.size() != 2) return "whose entries are not pairs";
    }
    if (source.shape == Shape::RunEnds) {
        const Source& ends = source.children[0];
        if (ends.shape != Shape::Integer || ends.width < 2 || !ends.is_signed) return "whose run ends are not integers";
    }
    return nullptr;
}

}  // namespace

std::string Source::text() const {
    const std::string bits = std::to_string(width * 8);
    switch (shape) {
        case Shape::Null: return "null";
        case Shape::Boolean: return "bool";
        case Shape::Integer: return (is_signed ? "int" : "uint") + bits;
        case Shape::Floating: return "float" + bits;
        case Shape::Decimal: return "decimal" + bits + "(" + std::to_string(precision) + ", " + std::to_string(scale) + ")";
        case Shape::Text: return layout == Layout::View ? "string_view" : layout == Layout::Offsets64 ? "large_string" : "string";
        case Shape::Binary:
            if (layout == Layout::Fixed) return "fixed_size_binary(" + std::to_string(size) + ")";
            return layout == Layout::View ? "binary_view" : layout == Layout::Offsets64 ? "large_binary" : "binary";
        case Shape::Date: return "date" + bits;
        case Shape::Time: return "time" + bits + "[" + name_of_unit(unit) + "]";
        case Shape::Timestamp:
        case Shape::Elapsed: {
            const std::string zone = is_zoned ? ", " + format.substr(4) : "";
            return (shape == Shape::Timestamp ? "timestamp[" : "duration[") + std::string(name_of_unit(unit)) + zone + "]";
        }
        case Shape::Months: return "month_interval";
        case Shape::DayTime: return "day_time_interval";
        case Shape::MonthDayNano: return "month_day_nano_interval";
        case Shape::List:
            return (layout == Layout::Fixed ? "fixed_size_list<" : "list<") + children[0].text() +
                   (layout == Layout::Fixed ? ", " + std::to_string(size) + ">" : ">");
        case Shape::Map: return "map<" + children[0].children[0].text() + ", " + children[0].children[1].text() + ">";
        case Shape::Struct: {
            std::string fields;
            for (const Source& child : children) fields += (fields.empty() ? "" : ", ") + child.name + ": " + child.text();
            return "struct<" + fields + ">";
        }
        case Shape::Dictionary: return "dictionary<" + children[0].text() + ">";
        case Shape::RunEnds: return "run_end_encoded<" + children[1].text() + ">";
        case Shape::Other: break;
    }
    return "the Arrow type '" + (extension.empty() ? format : extension) + "'";
}

bool read_schema(const ArrowSchema& schema, Source& out, std::string& problem, int depth) {
    const auto broken = [&](const std::string& why) {
        problem = "the schema of '" + out.name + "' is broken: " + why;
        return false;
    };
    out.name = schema.name ? schema.name : "";
    if (!schema.format) return broken("it has no format");
    out.format = schema.format;
    if (depth >= kMaxDepth) return broken("it is nested too deeply");
    if (schema.n_children < 0 || (schema.n_children > 0 && !schema.children)) return broken("its children are missing");
    if (schema.metadata) read_metadata(schema.metadata, out);
    if (!out.format.empty()) read_format(out.format, out);
    apply_extension(out);
    if (schema.dictionary) {
        if (out.shape != Shape::Integer) return broken("its dictionary indexes are not integers");
        out.shape = Shape::Dictionary;
        out.children.resize(1);
        if (!read_schema(*schema.dictionary, out.children[0], problem, depth + 1)) return false;
        return schema.n_children == 0 || broken("a dictionary with children");
    }
    const int64_t wanted = children_of(out.shape);
    if (wanted >= 0 && schema.n_children != wanted) {
        return broken(std::to_string(schema.n_children) + " children for the format '" + out.format + "'");
    }
    out.children.resize(static_cast<size_t>(schema.n_children));
    for (int64_t i = 0; i < schema.n_children; ++i) {
        if (!schema.children[i] || !schema.children[i]->release) return broken("a child is missing");
        if (!read_schema(*schema.children[i], out.children[static_cast<size_t>(i)], problem, depth + 1)) return false;
    }
    const char* wrong = wrong_children(out);
    return !wrong || broken("a '" + out.format + "' " + wrong);
}

}  // namespace fastcql::ingest
