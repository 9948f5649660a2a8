import { type CommandDeclaration, command } from '../command.ts'
import { completionScripts, type Shell } from '../completion.ts'

/** @param commands returns the complete table of commands */
export const completion = (commands: () => readonly CommandDeclaration[]) =>
  command({
    path: ['completion'],
    summary: 'Print the completion script of a shell.',
    args: [
      {
        name: '<shell>',
        description: 'for example: source <(selvedge completion bash)',
        choices: Object.keys(completionScripts),
      },
    ],
    prints: 'script',
    run: async (_, { args: [shell] }) => completionScripts[shell as Shell](commands()),
  })
