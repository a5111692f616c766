#include "gateway/http/accept.h"

enum { SPECIFICITY_NONE = -1, SPECIFICITY_ANY, SPECIFICITY_TYPE, SPECIFICITY_EXACT };

/* qvalue = "0" [ "." 0*3DIGIT ] / "1" [ "." 0*3"0" ], in thousandths; -1 when it is something else. */
static int
quality_read(Slice text)
{
    if (text.size == 0 || text.size > 5 || (text.data[0] != '0' && text.data[0] != '1')) {
        return -1;
    }
    int quality = (text.data[0] - '0') * ACCEPT_QUALITY_MAX;
    int unit = ACCEPT_QUALITY_MAX / 10;
    for (size_t index = 1; index < text.size; index++) {
        const char character = text.data[index];
        if (index == 1 ? character != '.' : character < '0' || character > '9') {
            return -1;
        }
        if (index > 1) {
            quality += (character - '0') * unit;
            unit /= 10;
        }
    }
    return quality <= ACCEPT_QUALITY_MAX ? quality : -1;
}

/* Splits "text/html;level=1;q=0.5" into its range and its quality. */
static int
item_read(Slice item, Slice *ret_range)
{
    Slice rest = item;
    Slice part;
    int quality = ACCEPT_QUALITY_MAX;
    (void)slice_split(&rest, ';', ret_range);
    *ret_range = slice_trim(*ret_range);
    while (slice_split(&rest, ';', &part)) {
        part = slice_trim(part);
        if (part.size >= 2 && slice_equal_ignoring_case(slice_part(part, 0, 2), SLICE("q="))) {
            quality = quality_read(slice_part(part, 2, part.size));
        }
    }
    return quality;
}

static int
range_specificity(Slice range, Slice media_type)
{
    if (slice_equal_ignoring_case(range, media_type)) {
        return SPECIFICITY_EXACT;
    }
    if (slice_equals_string(range, "*/*")) {
        return SPECIFICITY_ANY;
    }
    const size_t slash = slice_find(media_type, '/') + 1;
    const bool has_type =
        range.size == slash + 1 && range.data[slash] == '*' &&
        slice_equal_ignoring_case(slice_part(range, 0, slash), slice_part(media_type, 0, slash));
    return has_type ? SPECIFICITY_TYPE : SPECIFICITY_NONE;
}

int
accept_quality(Slice accept, const char *media_type)
{
    if (slice_trim(accept).size == 0) {
        return ACCEPT_QUALITY_MAX;
    }
    const Slice wanted = slice_from_string(media_type);
    int best = SPECIFICITY_NONE;
    int best_quality = 0;
    Slice rest = accept;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        Slice range;
        const int quality = item_read(item, &range);
        const int specificity = quality < 0 ? SPECIFICITY_NONE : range_specificity(range, wanted);
        if (specificity > best) {
            best = specificity;
            best_quality = quality;
        }
    }
    return best_quality;
}

int
accept_choose(Slice accept, const char *const *offers, int offer_count)
{
    int best = -1;
    int best_quality = 0;
    for (int index = 0; index < offer_count; index++) {
        const int quality = accept_quality(accept, offers[index]);
        if (quality > best_quality) {
            best = index;
            best_quality = quality;
        }
    }
    return best;
}

bool
accept_encoding(Slice accept_encoding_header, const char *coding)
{
    const Slice wanted = slice_from_string(coding);
    int named = -1;
    int any = -1;
    Slice rest = accept_encoding_header;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        Slice range;
        const int quality = item_read(item, &range);
        if (slice_equal_ignoring_case(range, wanted)) {
            named = quality;
        } else if (slice_equals_string(range, "*")) {
            any = quality;
        }
    }
    return (named >= 0 ? named : any) > 0;
}

Slice
media_type_bare(Slice content_type)
{
    return slice_trim(slice_part(content_type, 0, slice_find(content_type, ';')));
}
