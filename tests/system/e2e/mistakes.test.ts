/** What the command line answers to mistakes: the list of docs/reference/mistakes.md, which a person reads and this test compares. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf } from '../../harness/cli.ts'
import { runHere } from '../../harness/cli-here.ts'
import { filesOfMistakes, type Mistake, mistakes } from '../../harness/mistakes.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const page = join(root, 'docs/reference/mistakes.md')

let services: Services
let folder: Awaited<ReturnType<typeof temporaryFolder>>
const at = (path: string) => join(folder.path, path)

beforeAll(async () => {
  services = await startServices()
  folder = await temporaryFolder()
  for (const [path, text] of Object.entries(filesOfMistakes)) {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), text)
  }
})
afterAll(async () => {
  await services.stop()
  await folder.remove()
})

function envOf({ situation }: Mistake): Record<string, string> {
  if (situation === 'nothing')
    return { PATH: process.env.PATH ?? '', SELVEDGE_STATE: at('no-state'), XDG_CONFIG_HOME: at('config') }
  const env = cliEnvOf(services.stack)
  return situation === 'person' ? env : { ...env, SELVEDGE_ACCESS_TOKEN: services.token }
}

/** The same on every run: without what names this run. */
const masked = (text: string): string =>
  text
    .replaceAll(services.stack.state, 'STATE')
    .replaceAll(folder.path, 'FOLDER')
    .replaceAll(services.developer.clientId, 'CLIENT')
    .replaceAll(/\b[0-9a-f]{56}\b/g, 'NODE')
    .replaceAll(/(127\.0\.0\.1|localhost):(?!9\b)\d+/g, '$1:PORT')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .trim()

/** What was typed, what was answered, and the exit code if it is not 2, that of a wrong call. */
async function entryOf(mistake: Mistake): Promise<string> {
  const ran = await runHere(folder.path, mistake.typed, { env: envOf(mistake) })
  const typed = ['selvedge', ...mistake.typed.map((word) => (/[ {]/.test(word) ? `'${word}'` : word))].join(
    ' ',
  )
  const exit = ran.code === 2 ? '' : `\n(exit code ${ran.code})`
  return `$ ${typed}\n${masked(ran.errors || ran.out)}${exit}`
}

const titles = {
  device: 'On a device with an account, signed in',
  person: 'Without a sign-in',
  nothing: 'Where no runtime runs',
} as const

async function makePage(): Promise<string> {
  const parts = []
  for (const [situation, title] of Object.entries(titles)) {
    const entries = []
    for (const each of mistakes) if (each.situation === situation) entries.push(await entryOf(each))
    parts.push(`## ${title}\n\n\`\`\`text\n${entries.join('\n\n')}\n\`\`\``)
  }
  return `<!-- Made by tests/system/e2e/mistakes.test.ts with UPDATE_MISTAKES=1; change the code, not this file. -->

# Mistakes, and what is answered

For contributors: ${mistakes.length} mistakes at the command line. A message names the value that was typed and what is wrong with it; the hint is one thing
to type next. The exit code is 2 unless another one is shown. Read the entries that a change of yours changes as a person who did not write it.

${parts.join('\n\n')}
`
}

it('each mistake has the answer of the page', async () => {
  const made = await makePage()
  if (process.env.UPDATE_MISTAKES) writeFileSync(page, made)
  expect(mistakes.length).toBeGreaterThanOrEqual(100)
  expect(made.split('\n')).toEqual(readFileSync(page, 'utf8').split('\n'))
})

it('no answer has a value that is no value, a stack, or a list of everything', () => {
  const entries = readFileSync(page, 'utf8')
    .split('\n\n')
    .filter((text) => /^(?:```text\n)?\$ /.test(text))
  expect(entries.length).toBeGreaterThanOrEqual(100)
  const weak = entries.filter(
    (text) => /\bNaN\b|undefined|\[object|\n\s*at \S+ \(/.test(text) || text.length > 700,
  )
  expect(weak).toEqual([])
  // No mistake ends with success, and each answer has a next step.
  expect(entries.filter((text) => text.includes('(exit code 0)') || !text.includes('\nhint: '))).toEqual([])
})
