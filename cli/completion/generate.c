/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs at build time: writes the completion for bash or zsh out of the tables of verbs.c. Plain libc, as it may be built
 * for the build machine. */
#include <stdio.h>
#include <string.h>

#include "cli/verbs.h"

/* Ids that need a size or node to be whole are left to the user. */
#define IDS_COMMAND "mmoptctl --no-pager list 2>/dev/null | sed -n '2,$s/^\\([a-z][^ *]*\\) .*/\\1/p'"

static int goes_with(const struct option_row *o, const struct verb *v)
{
	return o->global || (v && o->verb == v->id);
}

static void bash_options(const struct verb *v)
{
	const struct option_row *options;
	const char *blank = "";
	size_t n;

	options = options_table(&n);
	for (size_t i = 0; i < n; i++) {
		if (v ? options[i].global || options[i].verb != v->id : !options[i].global)
			continue;
		printf("%s--%s%s", blank, options[i].name, options[i].argument ? "=" : "");
		blank = " ";
	}
}

static void write_words(const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		printf("%s%s", i > 0 ? " " : "", words[i]);
}

static void bash_argument_case(const struct option_row *o)
{
	printf("\t");
	if (option_letter(o))
		printf("-%c | ", option_letter(o));
	switch (o->completion) {
	case COMPLETE_FILES:
		printf("--%s)\n\t\tcompopt -o filenames\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
		       "\t\treturn ;;\n",
		       o->name);
		return;
	case COMPLETE_DIRECTORIES:
		printf("--%s)\n\t\tcompopt -o filenames\n\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
		       "\t\treturn ;;\n",
		       o->name);
		return;
	case COMPLETE_IDS:
	case COMPLETE_NOTHING:
		break;
	}
	printf("--%s)\n", o->name);
	if (o->words) {
		printf("\t\tmapfile -t COMPREPLY < <(compgen -W '");
		write_words(o->words);
		printf("' -- \"$word\")\n");
	}
	printf("\t\treturn ;;\n");
}

static void bash_verb_cases(void)
{
	const struct verb *verbs;
	size_t n;

	verbs = verbs_table(&n);
	for (size_t i = 0; i < n; i++) {
		printf("\t%s)\n\t\toptions+=' ", verbs[i].name);
		bash_options(&verbs[i]);
		printf("'\n");
		switch (verbs[i].completion) {
		case COMPLETE_NOTHING:
			if (verbs[i].words) {
				printf("\t\targuments='");
				write_words(verbs[i].words);
				printf("'\n");
			}
			break;
		case COMPLETE_IDS:
			printf("\t\targuments=$(" IDS_COMMAND ") ;;\n");
			continue;
		case COMPLETE_FILES:
		case COMPLETE_DIRECTORIES:
			printf("\t\tfiles=yes ;;\n");
			continue;
		}
		printf("\t\t;;\n");
	}
}

static void bash(void)
{
	const struct option_row *options;
	const struct verb *verbs;
	size_t n_verbs, n_options;

	verbs = verbs_table(&n_verbs);
	options = options_table(&n_options);
	printf("# SPDX-License-Identifier: LGPL-2.1-or-later\n"
	       "# bash completion for mmoptctl(1), made from its table of verbs\n"
	       "_mmoptctl() {\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb= files= arguments= options i\n"
	       "\tlocal verbs='");
	for (size_t i = 0; i < n_verbs; i++)
		printf("%s%s", i > 0 ? " " : "", verbs[i].name);
	printf("'\n\toptions='");
	bash_options(NULL);
	printf("'\n"
	       "\t# \"--option=word\" comes as three words, as '=' is a word break.\n"
	       "\tif [[ $word == '=' ]]; then\n"
	       "\t\tword=\n"
	       "\telif [[ $previous == '=' ]]; then\n"
	       "\t\tprevious=${COMP_WORDS[COMP_CWORD-2]}\n"
	       "\tfi\n"
	       "\tcase $previous in\n");
	for (size_t i = 0; i < n_options; i++)
		if (options[i].argument)
			bash_argument_case(&options[i]);
	printf("\tesac\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tif [[ \" $verbs \" == *\" ${COMP_WORDS[i]} \"* ]]; then\n"
	       "\t\t\tverb=${COMP_WORDS[i]}\n"
	       "\t\t\tbreak\n"
	       "\t\tfi\n"
	       "\tdone\n"
	       "\tcase $verb in\n"
	       "\t'')\n"
	       "\t\targuments=$verbs ;;\n");
	bash_verb_cases();
	printf("\tesac\n"
	       "\tif [[ $word == -* ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
	       "\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
	       "\telif [[ $files ]]; then\n"
	       "\t\tcompopt -o filenames\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	       "\telse\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$arguments\" -- \"$word\")\n"
	       "\tfi\n"
	       "}\n"
	       "complete -F _mmoptctl mmoptctl\n");
}

/* Text inside '...[text]': the brackets and quotes of summaries are not for the shell. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr("[]:\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_argument(const struct option_row *o)
{
	if (!o->argument)
		return;
	printf("%s:", o->argument_optional ? ":" : "");
	zsh_text(o->name);
	putchar(':');
	if (o->words) {
		putchar('(');
		write_words(o->words);
		putchar(')');
		return;
	}
	switch (o->completion) {
	case COMPLETE_FILES:
		printf("_files");
		return;
	case COMPLETE_DIRECTORIES:
		printf("_directories");
		return;
	case COMPLETE_IDS:
	case COMPLETE_NOTHING:
		printf(" ");
		return;
	}
}

/* "--name=[summary]:name:words"; "=-" where the argument has to follow in the same word. */
static void zsh_option(const struct option_row *o)
{
	printf(" \\\n\t\t'--%s%s[", o->name, !o->argument ? "" : o->argument_optional ? "=-" : "=");
	zsh_text(o->summary);
	putchar(']');
	zsh_argument(o);
	putchar('\'');
	if (option_letter(o)) {
		printf(" \\\n\t\t'-%c%s[", option_letter(o), o->argument ? "+" : "");
		zsh_text(o->summary);
		putchar(']');
		zsh_argument(o);
		putchar('\'');
	}
}

static void zsh_verb_case(const struct verb *v)
{
	const struct option_row *options;
	size_t n;

	options = options_table(&n);
	printf("\t%s)\n\t\t_arguments -s", v->name);
	for (size_t i = 0; i < n; i++)
		if (goes_with(&options[i], v))
			zsh_option(&options[i]);
	switch (v->completion) {
	case COMPLETE_NOTHING:
		if (v->words) {
			printf(" \\\n\t\t'1:what:(");
			write_words(v->words);
			printf(")'");
		}
		break;
	case COMPLETE_IDS:
		printf(" \\\n\t\t'*:tunable:(${(f)\"$(" IDS_COMMAND ")\"})'");
		break;
	case COMPLETE_FILES:
	case COMPLETE_DIRECTORIES:
		printf(" \\\n\t\t'*:file:_files'");
		break;
	}
	printf(" ;;\n");
}

static void zsh(void)
{
	const struct option_row *options;
	const struct verb *verbs;
	size_t n_verbs, n_options;

	verbs = verbs_table(&n_verbs);
	options = options_table(&n_options);
	printf("#compdef mmoptctl\n"
	       "# SPDX-License-Identifier: LGPL-2.1-or-later\n"
	       "# zsh completion for mmoptctl(1), made from its table of verbs\n"
	       "local -a verbs\n"
	       "local curcontext=$curcontext state line\n"
	       "verbs=(\n");
	for (size_t i = 0; i < n_verbs; i++) {
		printf("\t'%s:", verbs[i].name);
		zsh_text(verbs[i].summary);
		printf("'\n");
	}
	printf(")\n_arguments -C -s");
	for (size_t i = 0; i < n_options; i++)
		if (options[i].global)
			zsh_option(&options[i]);
	printf(" \\\n\t\t'1:verb:->verb' '*::argument:->argument'\n"
	       "case $state in\n"
	       "verb)\n"
	       "\t_describe -t verbs verb verbs ;;\n"
	       "argument)\n"
	       "\tcase $words[1] in\n");
	for (size_t i = 0; i < n_verbs; i++)
		zsh_verb_case(&verbs[i]);
	printf("\tesac ;;\nesac\n");
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "bash") == 0)
		bash();
	else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
		zsh();
	else
		return 1;
	return ferror(stdout) || fflush(stdout) != 0;
}
