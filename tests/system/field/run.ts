/** `npm run field [-- program… | compose [file…]]`: runs programs and Compose files as their public images have them, and writes docs/field.md; without an argument all. */
import { composeFiles } from './compose.ts'
import { openField, type Program } from './field.ts'
import { brokers } from './programs/brokers.ts'
import { databases } from './programs/databases.ts'
import { devices } from './programs/devices.ts'
import { networks } from './programs/networks.ts'
import { servers } from './programs/servers.ts'
import { web } from './programs/web.ts'
import { writeTables } from './write-tables.ts'

const programs: readonly Program[] = [...brokers, ...databases, ...networks, ...servers, ...devices, ...web]
const say = (text: string) => void process.stdout.write(`${text}\n`)
const failures: string[] = []

async function runPrograms(chosen: readonly Program[]): Promise<void> {
  const field = await openField(chosen)
  for (const program of chosen)
    try {
      const row = await field.measure(program, (text) => say(`  ${program.name}: ${text}`))
      writeTables([row], [])
      say(`${program.name}: runs`)
    } catch (cause) {
      failures.push(program.name)
      say(`FAILED ${program.name}: ${(cause as Error).stack}`)
    }
  await field.close()
}

const runFiles = (wanted: readonly string[]): Promise<void> =>
  composeFiles(
    wanted,
    (file) => {
      if (file.problem !== undefined) failures.push(file.name)
      writeTables([], [file])
      say(`compose ${file.name}: ${file.problem ?? file.seen}`)
    },
    (text) => say(`  ${text}`),
  )

/** @throws Error for a name that no program has */
function find(name: string): Program {
  const found = programs.find((each) => each.name === name)
  if (!found)
    throw new Error(`there is no program ${name}; there are ${programs.map((each) => each.name).join(', ')}`)
  return found
}

const [, , first, ...others] = process.argv
if (first === 'compose') await runFiles(others)
else {
  await runPrograms(first === undefined ? programs : [first, ...others].map(find))
  if (first === undefined) await runFiles([])
}
say(failures.length > 0 ? `failed: ${failures.join(', ')}` : 'all of them run')
process.exit(failures.length > 0 ? 1 : 0)
