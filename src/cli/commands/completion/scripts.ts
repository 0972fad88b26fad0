import type { Command, Option } from "commander";

export interface Candidate {
  readonly text: string;
  readonly meaning: string;
}

export const paths: Candidate = { text: ":paths", meaning: "" };

export type Values = Readonly<Record<string, () => Promise<readonly Candidate[]>>>;

/** Completes the last of `words`, which follow "fx". The candidates come from the definitions of the commands. */
export async function complete(
  program: Command,
  words: readonly string[],
  values: Values,
): Promise<readonly Candidate[]> {
  const { command, waiting, place, given } = readWords(program, words.slice(0, -1));
  const current = words.at(-1) ?? "";
  const beginSo = (candidates: readonly Candidate[]) =>
    candidates.filter(({ text }) => text.startsWith(current));
  const valuesOf = async (placeholder: string, choices: readonly string[] = []) => {
    const all = (await values[placeholder]?.()) ?? choices.map((text) => ({ text, meaning: "" }));
    const fitting = beginSo(all.filter((value) => value !== paths));
    return all.includes(paths) ? [...fitting, paths] : fitting;
  };
  if (waiting !== undefined) return valuesOf(placeholderOf(waiting), waiting.argChoices);
  const options = optionsOf(command)
    .filter((option) => !option.hidden && !given.has(option))
    .map((option) => ({ text: option.long ?? option.short ?? "", meaning: option.description }));
  if (current.startsWith("-")) return beginSo(options);
  const commands = place > 0 ? [] : command.commands;
  const named = beginSo(commands.map((child) => ({ text: child.name(), meaning: child.description() })));
  if (named.length > 0) return named;
  const expected =
    command.registeredArguments[place] ?? command.registeredArguments.find(({ variadic }) => variadic);
  if (expected !== undefined) return valuesOf(expected.name(), expected.argChoices);
  return current === "" ? options : [];
}

/** Walks over the finished words to the command and the option or argument that the next word belongs to. */
function readWords(program: Command, words: readonly string[]) {
  let command = program;
  let waiting: Option | undefined;
  let place = 0;
  const given = new Set<Option>();
  for (const word of words) {
    if (waiting !== undefined) {
      waiting = undefined;
    } else if (word.startsWith("-")) {
      const [flag] = word.split("=");
      const option = optionsOf(command).find(({ long, short }) => flag === long || flag === short);
      if (option !== undefined) given.add(option);
      if (option?.required && !word.includes("=")) waiting = option;
    } else {
      const child = place > 0 ? undefined : command.commands.find((candidate) => candidate.name() === word);
      if (child === undefined) place += 1;
      else command = child;
    }
  }
  return { command, waiting, place, given };
}

/** The options that the help of the command shows, except --version of fx, which a command ignores. */
function optionsOf(command: Command): readonly Option[] {
  const help = command.createHelp();
  const global = help.visibleGlobalOptions(command).filter(({ long }) => long !== "--version");
  return [...help.visibleOptions(command), ...global];
}

/** "currency" of "--from <currency>". */
function placeholderOf({ flags }: Option): string {
  return /[<[]([\w-]+)/.exec(flags)?.[1] ?? "";
}

/** The script for each shell. It asks `fx completion SHELL -- WORDS…` and passes on the output. */
export const scripts = {
  bash: `# fx completion for bash: put  source <(fx completion bash)  into ~/.bashrc
_fx() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :paths ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(command fx completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _fx fx
`,
  zsh: `#compdef fx
# fx completion for zsh: put  source <(fx completion zsh)  into ~/.zshrc, after compinit
_fx() {
  local line paths
  local -a found
  for line in "\${(@f)$(command fx completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :paths ]]; then
      paths=1
    elif [[ -n $line ]]; then
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( $#found )) && _describe fx found
  [[ -n $paths ]] && _files
}
if [[ $funcstack[1] == _fx ]]; then _fx; else compdef _fx fx; fi
`,
  fish: `# fx completion for fish: fx completion fish > ~/.config/fish/completions/fx.fish
function __fx_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    for line in (command fx completion fish -- $words "$current" 2>/dev/null)
        if test "$line" = :paths
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c fx -f -a '(__fx_complete)'
`,
} as const;
