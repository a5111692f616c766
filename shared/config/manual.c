/* The table of settings as a manual page has it, in mdoc (mdoc(7)), which man, groff and mandoc read. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "shared/base/utf8.h"
#include "shared/config/config.h"
#include "shared/config/describe.h"

/* What roff would take for a quotation mark, an accent, or the start of an escape. */
static const char *
find_escape(char byte)
{
    switch (byte) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

/* Appends the character that `text` begins with, and returns its size in bytes. */
static size_t
append_character(Buffer *page, const char *text)
{
    size_t size = utf8_character_size(text, text + strlen(text));
    assert(size > 0); /* the programs' own texts are well-formed */
    if (size == 1) {
        const char *escape = find_escape(text[0]);
        buffer_append(page, escape == NULL ? text : escape, escape == NULL ? 1 : strlen(escape));
        return 1;
    }
    uint32_t character = (unsigned char)text[0] & (0x7fu >> size);
    for (size_t index = 1; index < size; index++) {
        character = character << 6 | ((unsigned char)text[index] & 0x3f);
    }
    buffer_append_format(page, "\\[u%04X]", character);
    return size;
}

/* Whether a sentence ends before this space: mdoc has each begin a line. */
static bool
ends_sentence(const char *start, const char *space)
{
    return space - start >= 2 && space[-1] == '.' && islower((unsigned char)space[-2]) != 0 &&
           isupper((unsigned char)space[1]) != 0;
}

void
manual_append(Buffer *page, const char *text)
{
    const char *at = text;
    while (*at != '\0') {
        bool starts_line = page->size == 0 || page->data[page->size - 1] == '\n';
        if (starts_line && (*at == '.' || *at == '\'')) {
            buffer_append_string(page, "\\&"); /* else the line is a request */
        }
        if (*at == ' ' && ends_sentence(text, at)) {
            buffer_append_byte(page, '\n');
            at++;
        } else {
            at += append_character(page, at);
        }
    }
}

void
config_write_manual(const ConfigTable *table, Buffer *page)
{
    buffer_append_string(page, ".Bl -tag -width Ds\n");
    for (size_t index = 0; index < table->count; index++) {
        const SettingDefinition *definition = &table->definitions[index];
        char flag[SETTING_VARIABLE_SIZE];
        setting_flag(definition, flag);
        buffer_append_format(page,
            definition->type == SETTING_BOOLEAN ? ".It Fl -%s Ns Op = Ns Ar %s\n" : ".It Fl -%s Ar %s\n",
            flag, setting_value_word(definition));
        manual_append(page, definition->meaning);
        buffer_append_string(page, ".\n");
        if (definition->default_value != NULL && definition->default_value[0] != '\0') {
            buffer_append_string(page, "The default is\n.Ql ");
            manual_append(page, definition->default_value);
            buffer_append_string(page, " .\n");
        }
    }
    buffer_append_string(page, ".El\n");
}
