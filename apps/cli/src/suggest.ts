/** What the user may have meant by a word that is no command: by its meaning, by its spelling, or as the name of a method. */
import { methods } from '@selvedge/protocol'
import { closest, maxWordLength, similar } from './closest.ts'
import type { CommandDeclaration } from './command.ts'

/** Words of other tools and of the API, and the command that does what they mean. */
export const meanings: Readonly<Record<string, readonly string[]>> = {
  add: ['context add', 'init'],
  apps: ['ps'],
  attach: ['logs', 'dev'],
  auth: ['login', 'whoami'],
  bash: ['logs', 'why'],
  build: ['image pack'],
  config: ['context list'],
  connect: ['context use'],
  containers: ['ps'],
  create: ['init', 'deploy'],
  delete: ['container remove', 'image remove'],
  destroy: ['container remove', 'image remove'],
  device: ['me', 'nodes'],
  devices: ['nodes'],
  diagnose: ['doctor'],
  down: ['stop'],
  events: ['watch'],
  exec: ['logs', 'why'],
  fetch: ['curl'],
  getcontainers: ['ps'],
  getcontainerhistory: ['why'],
  getcontainerlogs: ['logs'],
  getgps: ['gps show'],
  getimages: ['image list'],
  getme: ['me'],
  getnodes: ['nodes'],
  getsecrets: ['secret list'],
  health: ['doctor', 'status'],
  history: ['why'],
  id: ['whoami', 'me'],
  images: ['image list'],
  info: ['me', 'status'],
  inspect: ['ps', 'why'],
  install: ['deploy', 'service install'],
  kill: ['stop'],
  launch: ['deploy'],
  list: ['ps', 'image list'],
  log: ['logs'],
  ls: ['ps', 'image list'],
  locate: ['gps show'],
  machines: ['nodes'],
  monitor: ['watch'],
  net: ['nodes'],
  netcheck: ['doctor'],
  new: ['init'],
  ping: ['status'],
  profile: ['context list'],
  profiles: ['context list'],
  publish: ['deploy'],
  pull: ['image deploy'],
  push: ['image deploy'],
  register: ['up'],
  remove: ['container remove', 'image remove'],
  request: ['curl'],
  rm: ['container remove', 'image remove'],
  rmi: ['image remove'],
  run: ['deploy', 'dev'],
  self: ['me'],
  serve: ['dev'],
  services: ['ps'],
  session: ['whoami'],
  sh: ['logs', 'why'],
  shell: ['logs', 'why'],
  signin: ['login'],
  signout: ['logout'],
  signup: ['login'],
  ssh: ['logs', 'why'],
  switch: ['context use'],
  tail: ['logs'],
  test: ['dev', 'doctor'],
  top: ['ps', 'watch'],
  update: ['upgrade', 'deploy'],
  use: ['context use'],
  user: ['whoami'],
  version: ['--version'],
}

/** Words for the same thing as the last word of a command, such as `ls` for `list`. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['create', 'deploy', 'add', 'associate'],
  build: ['pack'],
  create: ['add', 'deploy', 'create'],
  del: ['remove', 'revoke'],
  delete: ['remove', 'revoke', 'disable'],
  get: ['show', 'list', 'access'],
  info: ['show', 'status', 'list'],
  inspect: ['show', 'list'],
  kill: ['stop'],
  log: ['logs'],
  ls: ['list'],
  new: ['create', 'add'],
  ps: ['list'],
  pull: ['deploy'],
  push: ['deploy'],
  rm: ['remove', 'revoke', 'unassociate'],
  run: ['deploy', 'start'],
  select: ['use'],
  set: ['use', 'update', 'share'],
  show: ['list', 'status'],
  switch: ['use'],
  tail: ['logs'],
  upload: ['deploy'],
}

const maxSuggestions = 3

/**
 * @param group words of the group that the word is in; empty for a first word
 * @returns what may be meant, best first: command lines without `selvedge`
 */
export function suggest(
  group: readonly string[],
  word: string,
  commands: readonly CommandDeclaration[],
): readonly string[] {
  if (word.length > maxWordLength) return []
  const asked = word.toLowerCase()
  const found = group.length === 0 ? byMeaning(asked, commands) : bySynonym(group, asked, commands)
  // A word of another tool has its meaning, and no similar spelling.
  const all = found.length > 0 ? found : bySpelling(group, asked, commands)
  return [...new Set(all)].slice(0, maxSuggestions)
}

/** In a sentence: `Did you mean "selvedge ps"?` */
export const asQuestion = (suggestions: readonly string[]): string =>
  `Did you mean ${suggestions.map((each) => `"selvedge ${each}"`).join(' or ')}?`

function byMeaning(word: string, commands: readonly CommandDeclaration[]): readonly string[] {
  if (Object.hasOwn(meanings, word)) return meanings[word]!
  const method = Object.keys(methods).find((name) => name.toLowerCase() === word)
  if (method !== undefined) return [`call ${method}`]
  // The last word of a command without its group: `associate`, `pack`.
  const named = commands.filter(({ path }) => path.length > 1 && path.at(-1) === word)
  return named.map(({ path }) => path.join(' '))
}

function bySynonym(
  group: readonly string[],
  word: string,
  commands: readonly CommandDeclaration[],
): readonly string[] {
  const words = nextWords(group, commands)
  // "pul" for "pull", unless it is closer to a word of the group.
  const known = Object.hasOwn(synonyms, word) ? word : closest(word, [...words, ...Object.keys(synonyms)])
  const meant =
    known !== undefined && Object.hasOwn(synonyms, known) && !words.includes(known) ? synonyms[known]! : []
  return meant.filter((each) => words.includes(each)).map((each) => [...group, each].join(' '))
}

/** Words that differ by a third of their letters at most, the closest first. */
function bySpelling(
  group: readonly string[],
  word: string,
  commands: readonly CommandDeclaration[],
): readonly string[] {
  return similar(word, nextWords(group, commands)).map((each) => [...group, each].join(' '))
}

/** The words that may follow a group. */
function nextWords(group: readonly string[], commands: readonly CommandDeclaration[]): string[] {
  const inGroup = commands.filter(({ path }) => group.every((each, at) => path[at] === each))
  return [...new Set(inGroup.flatMap(({ path }) => path.slice(group.length, group.length + 1)))]
}
