/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <langinfo.h>
#include <libsmartcols.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/strutil.h"
#include "base/time-span.h"
#include "base/utf8.h"
#include "core/report-model.h"
#include "core/report-safe.h"

/* Narrower than this a wrapped column is a ribbon that nobody reads: the line runs over the edge instead. */
#define WRAP_MIN 20

/* How far the text below a row is set in. */
#define BELOW_INDENT 4

/* Where COLUMN_FOLD wraps without a terminal. */
#define FOLD_WIDTH 60

#define BOLD "\033[1m"
#define RESET "\033[0m"

struct text_writer {
	FILE *f;
	const struct report_text_options *options;
	bool ascii_only; /* the locale cannot show more */
	bool begun;
};

enum place {
	PLACE_NONE,
	PLACE_COLUMN,
	PLACE_BELOW, /* its text stands below the row */
};

/* What of a table is shown on this terminal, and where. */
struct layout {
	const struct report_table *table;
	enum place *places; /* per column */
	size_t *widths;	    /* per column: of the widest cell */
	size_t rows;	    /* shown */
	size_t columns;	    /* with anything to say */
	size_t wrap;	    /* characters for each wrapped column; 0: no wrapping */
	bool any_below;
};

static void table_unrefp(struct libscols_table **t)
{
	scols_unref_table(*t);
}

/* What a cell says to people; the caller frees; NULL on lack of memory. */
static char *cell_string(const struct cell *c, bool ascii_only)
{
	char buf[32];

	switch (c->type) {
	case CELL_NULL:
		return strdup("-");
	case CELL_TEXT:
		return text_printable(c->text, ascii_only);
	case CELL_NUMBER:
		return xasprintf("%" PRId64, c->number);
	case CELL_BYTES:
		return strdup(format_bytes(c->number, buf));
	case CELL_BOOLEAN:
		return strdup(c->number ? "yes" : "no");
	case CELL_TIME:
		return strdup(format_time(c->number, buf));
	}
	return NULL;
}

/* The colour of an outcome or verdict; NULL: none. */
static const char *word_colour(const char *word)
{
	static const struct {
		const char *word, *colour;
	} colours[] = {
		{ "applied", "green" },	     { "already", "green" },	  { "restored", "green" },
		{ "committed", "green" },    { "set", "cyan" },		  { "pending", "cyan" },
		{ "adjusted", "yellow" },    { "partial", "yellow" },	  { "pending-reboot", "yellow" },
		{ "drifted", "yellow" },     { "differs", "yellow" },	  { "foreign", "yellow" },
		{ "unconfirmed", "yellow" }, { "open", "yellow" },	  { "refused", "red" },
		{ "unsafe", "red" },	     { "unsupported", "yellow" }, { "failed", "red" },
		{ "skipped", "darkgray" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
		if (streq(colours[i].word, word))
			return colours[i].colour;
	return NULL;
}

/* Breaks text at blanks into lines of at most width characters; longer words stay whole. In place. */
static void wrap_words(char *text, size_t width)
{
	char *last_blank = NULL, *p = text;
	size_t column = 0;
	uint32_t c;

	while (*p) {
		size_t n = utf8_next(p, &c) ?: 1;

		if (*p == ' ')
			last_blank = p;
		if (++column > width && last_blank) {
			*last_blank = '\n';
			column = text_length(last_blank + 1) - text_length(p + n);
			last_blank = NULL;
		}
		p += n;
	}
}

/* Text in lines of at most width characters, the second and later ones set in. Changes text. */
static void write_wrapped(FILE *f, char *text, size_t indent, size_t width)
{
	char *next;

	wrap_words(text, MAX(width, (size_t)WRAP_MIN));
	for (next = strchr(text, '\n'); next; next = strchr(text, '\n')) {
		fprintf(f, "%.*s\n%*s", (int)(next - text), text, (int)indent, "");
		text = next + 1;
	}
	fprintf(f, "%s\n", text);
}

static bool row_shown(const struct report_table *t, size_t row)
{
	return !t->json_only[row];
}

/* Characters of the widest cell of a column that is shown, its title included. */
static size_t column_width(const struct report_table *t, size_t column, bool ascii_only)
{
	size_t width = text_length(t->columns[column].title);

	for (size_t i = 0; i < t->n_rows; i++) {
		_cleanup_free_ char *s = NULL;

		if (!row_shown(t, i))
			continue;
		s = cell_string(&t->cells[i * t->n_columns + column], ascii_only);
		if (s)
			width = MAX(width, text_length(s));
	}
	return width;
}

/* True where some shown row has something to say in this column: an empty one is left out. */
static bool column_used(const struct report_table *t, size_t column)
{
	if (t->columns[column].flags & COLUMN_JSON_ONLY)
		return false;
	for (size_t i = 0; i < t->n_rows; i++)
		if (row_shown(t, i) && t->cells[i * t->n_columns + column].type != CELL_NULL)
			return true;
	return false;
}

/* May be wrapped, and is wide enough for that to gain anything. */
static bool can_wrap(const struct layout *l, size_t column)
{
	return l->table->columns[column].flags & (COLUMN_WRAP | COLUMN_FOLD) && l->widths[column] > WRAP_MIN;
}

/* Characters that the columns which are not wrapped take, blanks included; *ret_n_wrapped: how many are. */
static size_t fixed_width(const struct layout *l, size_t *ret_n_wrapped)
{
	size_t fixed = 0;

	*ret_n_wrapped = 0;
	for (size_t i = 0; i < l->table->n_columns; i++) {
		if (l->places[i] != PLACE_COLUMN)
			continue;
		if (can_wrap(l, i))
			(*ret_n_wrapped)++;
		else
			fixed += l->widths[i];
		fixed++; /* the blank between */
	}
	return fixed;
}

static bool layout_fits(const struct layout *l, size_t width)
{
	size_t n_wrapped, fixed = fixed_width(l, &n_wrapped);

	/* No blank comes after the last one. */
	return fixed + n_wrapped * WRAP_MIN <= width + 1;
}

/* Moves the last column with one of these flags elsewhere; false where there is none. */
static bool move_last(struct layout *l, unsigned flags, enum place place)
{
	for (size_t i = l->table->n_columns; i-- > 0;) {
		if (l->places[i] != PLACE_COLUMN || !(l->table->columns[i].flags & flags))
			continue;
		l->places[i] = place;
		return true;
	}
	return false;
}

/* On a narrow terminal: without the least important columns; then with the long texts below their rows. */
static void layout_narrow(struct layout *l, size_t width)
{
	while (!layout_fits(l, width) && move_last(l, COLUMN_DROPPABLE, PLACE_NONE))
		;
	while (!layout_fits(l, width) && move_last(l, COLUMN_WRAP, PLACE_BELOW))
		l->any_below = true;
	/* What makes room for another may have made more than was needed. */
	for (size_t i = 0; l->any_below && i < l->table->n_columns; i++) {
		if (!(l->table->columns[i].flags & COLUMN_DROPPABLE) || !column_used(l->table, i))
			continue;
		l->places[i] = PLACE_COLUMN;
		if (!layout_fits(l, width))
			l->places[i] = PLACE_NONE;
	}
}

/* How wide each wrapped column may be on this terminal. */
static size_t wrap_width(const struct layout *l, size_t width)
{
	size_t n_wrapped, fixed = fixed_width(l, &n_wrapped);

	if (n_wrapped == 0)
		return 0;
	if (fixed + n_wrapped * WRAP_MIN > width)
		return WRAP_MIN;
	return (width - fixed) / n_wrapped;
}

static void layout_clear(struct layout *l)
{
	free(l->places);
	free(l->widths);
}

static int layout_make(const struct text_writer *w, const struct report_table *t, struct layout *ret)
{
	_cleanup_(layout_clear) struct layout l = { .table = t };

	l.places = calloc(t->n_columns, sizeof(*l.places));
	l.widths = calloc(t->n_columns, sizeof(*l.widths));
	if (!l.places || !l.widths)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_rows; i++)
		l.rows += row_shown(t, i);
	for (size_t i = 0; i < t->n_columns; i++) {
		if (!column_used(t, i))
			continue;
		l.places[i] = PLACE_COLUMN;
		l.widths[i] = column_width(t, i, w->ascii_only);
		l.columns++;
	}
	if (w->options->width > 0) {
		layout_narrow(&l, w->options->width);
		l.wrap = wrap_width(&l, w->options->width);
	}
	*ret = l;
	l = (struct layout){};
	return 0;
}

/* Characters that a column is wrapped at; 0: not wrapped. */
static size_t column_wrap(const struct layout *l, size_t column)
{
	if (l->wrap > 0)
		return can_wrap(l, column) ? l->wrap : 0;
	return l->table->columns[column].flags & COLUMN_FOLD ? FOLD_WIDTH : 0;
}

static int add_columns(struct libscols_table *table, const struct layout *l)
{
	for (size_t i = 0; i < l->table->n_columns; i++) {
		const struct column *c = &l->table->columns[i];
		struct libscols_column *column;
		int flags = 0;

		if (l->places[i] != PLACE_COLUMN)
			continue;
		if (c->flags & COLUMN_RIGHT)
			flags |= SCOLS_FL_RIGHT;
		if (column_wrap(l, i) > 0)
			flags |= SCOLS_FL_WRAP;
		column = scols_table_new_column(table, c->title, 0, flags);
		if (!column)
			return -ENOMEM;
		if (!(flags & SCOLS_FL_WRAP))
			continue;
		if (scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_cell(const struct text_writer *w, struct libscols_line *line, size_t n, const struct layout *l,
		    size_t row, size_t column)
{
	unsigned flags = l->table->columns[column].flags;
	size_t wrap = column_wrap(l, column);
	_cleanup_free_ char *s = NULL;
	const char *colour = NULL;

	s = cell_string(&l->table->cells[row * l->table->n_columns + column], w->ascii_only);
	if (!s)
		return -ENOMEM;
	if (wrap > 0)
		wrap_words(s, wrap);
	if (w->options->colour && flags & COLUMN_OUTCOME)
		colour = word_colour(s);
	if (scols_line_refer_data(line, n, s) < 0)
		return -ENOMEM;
	TAKE_PTR(s);
	if (colour && scols_cell_set_color(scols_line_get_cell(line, n), colour) < 0)
		return -ENOMEM;
	return 0;
}

static int add_line(const struct text_writer *w, struct libscols_table *table, const struct layout *l, size_t row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL); /* the table's */
	size_t n = 0;

	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < l->table->n_columns; i++) {
		int r;

		if (l->places[i] != PLACE_COLUMN)
			continue;
		r = add_cell(w, line, n++, l, row, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An empty line between the parts. */
static void begin_part(struct text_writer *w)
{
	if (w->begun)
		fputc('\n', w->f);
	w->begun = true;
}

static void write_heading(struct text_writer *w, const char *heading)
{
	if (w->options->colour)
		fprintf(w->f, BOLD "%s" RESET "\n", heading);
	else
		fprintf(w->f, "%s\n", heading);
}

static int write_below(const struct text_writer *w, const struct layout *l, size_t row)
{
	const struct report_table *t = l->table;

	for (size_t i = 0; i < t->n_columns; i++) {
		const struct cell *c = &t->cells[row * t->n_columns + i];
		_cleanup_free_ char *s = NULL;

		if (l->places[i] != PLACE_BELOW || c->type == CELL_NULL)
			continue;
		s = cell_string(c, w->ascii_only);
		if (!s)
			return -ENOMEM;
		fprintf(w->f, "%*s", BELOW_INDENT, "");
		write_wrapped(w->f, s, BELOW_INDENT,
			      w->options->width - MIN(w->options->width, (unsigned)BELOW_INDENT));
	}
	return 0;
}

/* Row by row, each followed by what stands below it. */
static int write_rows(const struct text_writer *w, struct libscols_table *table, const struct layout *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->table->n_rows; i++) {
		_cleanup_free_ char *text = NULL;
		struct libscols_line *line;
		size_t size;
		int r;

		if (!row_shown(l->table, i))
			continue;
		line = scols_table_get_line(table, n++);
		if (!line || scols_table_print_range_to_string(table, line, line, &text) < 0 || !text)
			return -ENOMEM;
		/* libsmartcols ends some ranges with a newline and some without. */
		for (size = strlen(text); size > 0 && text[size - 1] == '\n'; size--)
			;
		fprintf(w->f, "%.*s\n", (int)size, text);
		r = write_below(w, l, i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_table(struct text_writer *w, const struct report_table *t)
{
	_cleanup_(table_unrefp) struct libscols_table *table = NULL;
	_cleanup_(layout_clear) struct layout l = {};
	int r;

	r = layout_make(w, t, &l);
	if (r < 0 || l.rows == 0 || l.columns == 0)
		return r;
	table = scols_new_table();
	if (!table)
		return -ENOMEM;
	/* Colour and width were decided by the caller; libsmartcols shall not look at the terminal by itself. */
	scols_table_enable_colors(table, w->options->colour);
	scols_table_set_stream(table, w->f);
	/* cell_string() has made everything printable: a second time would show the marks of the first. */
	scols_table_enable_noencoding(table, 1);
	scols_table_set_termforce(table, l.wrap > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (l.wrap > 0)
		scols_table_set_termwidth(table, w->options->width);
	r = add_columns(table, &l);
	for (size_t i = 0; r >= 0 && i < t->n_rows; i++)
		if (row_shown(t, i))
			r = add_line(w, table, &l, i);
	if (r < 0)
		return r;
	begin_part(w);
	if (t->heading)
		write_heading(w, t->heading);
	if (l.any_below)
		return write_rows(w, table, &l);
	return scols_print_table(table) < 0 ? -ENOMEM : 0;
}

/* A run of fields, with their values below each other. */
static int write_fields(struct text_writer *w, const struct report_item *items, size_t n)
{
	size_t width = 0;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (items[i].title) {
			width = MAX(width, text_length(items[i].title));
			any = true;
		}
	}
	if (!any)
		return 0;
	begin_part(w);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *s = NULL;

		if (!items[i].title)
			continue;
		s = cell_string(&items[i].cell, w->ascii_only);
		if (!s)
			return -ENOMEM;
		fprintf(w->f, "%*s%s: ", (int)(width - text_length(items[i].title)), "", items[i].title);
		if (w->options->width > width + strlen(": ") + WRAP_MIN)
			write_wrapped(w->f, s, width + strlen(": "), w->options->width - width - strlen(": "));
		else
			fprintf(w->f, "%s\n", s);
	}
	return 0;
}

static int write_lines(struct text_writer *w, const struct report_item *items, size_t n)
{
	begin_part(w);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *s = text_printable(items[i].line ?: "", w->ascii_only);

		if (!s)
			return -ENOMEM;
		fprintf(w->f, "%s\n", s);
	}
	return 0;
}

static int write_run(struct text_writer *w, const struct report_item *items, size_t n)
{
	switch (items[0].type) {
	case ITEM_FIELD:
		return write_fields(w, items, n);
	case ITEM_LINE:
		return write_lines(w, items, n);
	case ITEM_TABLE:
		for (size_t i = 0; i < n; i++) {
			int r = write_table(w, items[i].table);

			if (r < 0)
				return r;
		}
		return 0;
	}
	return -EINVAL;
}

int report_render_text(const struct report *r, const struct report_text_options *options, FILE *f)
{
	struct text_writer w = {
		.f = f,
		.options = options,
		.ascii_only = !streq(nl_langinfo(CODESET), "UTF-8"),
	};
	size_t next;

	if (report_failed(r))
		return -ENOMEM;
	for (size_t i = 0; i < r->n_items; i = next) {
		int k;

		for (next = i + 1; next < r->n_items && r->items[next].type == r->items[i].type; next++)
			;
		k = write_run(&w, &r->items[i], next - i);
		if (k < 0)
			return k;
	}
	errno = 0;
	if (fflush(f) != 0 || ferror(f))
		return errno > 0 ? -errno : -EIO;
	return 0;
}
