/** Commands in texts as they are typed here: with npx in a clone, and `selvedge-admin` where only the identity service is installed. */

/** Set by the launcher of the program; any other value means `selvedge`. */
const programNameVariable = 'SELVEDGE_PROGRAM'

/** `selvedge` as the first word of a command, and not a part of a path, of a name or of a URL. */
const commandWord = /(?<![\w./:@-])selvedge (?=[a-z<-])/g

const adminWords = /(?<![\w./:@-])selvedge( help)? admin\b/g

/** @returns a function that replaces the name of the program in a text of this program */
export function createTyped(env: Readonly<Record<string, string | undefined>>): (text: string) => string {
  const name = env[programNameVariable]
  if (name === 'npx selvedge') return (text) => text.replace(commandWord, 'npx selvedge ')
  if (name === 'selvedge-admin')
    return (text) => text.replace(adminWords, (_, help: string | undefined) => `selvedge-admin${help ?? ''}`)
  return (text) => text
}
