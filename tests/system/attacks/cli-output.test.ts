/** Text of other machines on the terminal of a person: every command is answered by services whose every text is an attack. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Method, methods } from '@selvedge/protocol'
import { adminMethods } from '@selvedge/protocol/admin'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type Call, everyCall } from '../../attacks/cli-commands.ts'
import type { Ran } from '../../harness/cli.ts'
import { runHere } from '../../harness/cli-here.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Recorder, startRecorder } from '../../harness/recorder.ts'
import { everyCommand } from '../../harness/run-in.ts'

/** Clipboard, title, clear screen, C1, bidi, tags, a row of its own. */
const attack =
  'a\u001b]52;c;ZXZpbA==\u0007b\u001b]0;title\u001b\\c\u001b[2Jd\u009b31me\u009d0;x\u009cf\u202eg\u2066h\u200bi\u0000j\u0008k\u{e0041}l\rm\nFORGED row\u2028FORGED line\u0085n\u001b'
const forbidden = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u{e0000}-\u{e007f}]/u

type Schema = {
  type?: string
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  prefixItems?: Schema[]
}

/** A value of the shape that a method promises; every text in it is the attack. */
function sample(schema: Schema): unknown {
  const { type, anyOf, properties, items, prefixItems, additionalProperties: more } = schema
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (anyOf) return sample(anyOf[0]!)
  if (type === 'object') {
    const own = Object.entries(properties ?? {}).map(([name, each]) => [name, sample(each)])
    return Object.fromEntries(typeof more === 'object' ? [...own, [attack, sample(more)]] : own)
  }
  if (type === 'array')
    return prefixItems ? prefixItems.map(sample) : [sample(items ?? {}), sample(items ?? {})]
  if (type === 'number' || type === 'integer') return 1
  if (type === 'boolean') return true
  if (type === 'null') return null
  return attack
}

const table: Record<string, Method> = { ...methods, ...adminMethods }
const resultOf = (method: string): object => {
  const declared = table[method]
  const schema = declared && z.toJSONSchema(declared.result, { unrepresentable: 'any', io: 'input' })
  return { result: schema ? sample(schema as Schema) : { [attack]: attack } }
}
const refusal = {
  error: {
    code: -32004,
    message: attack,
    data: { reason: 'not_found', detail: attack, hint: attack, retryable: false, errorId: attack },
  },
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let calls: Call[]
let play: (method: string) => object
const recorders: Recorder[] = []
const inFolder = (name: string) => join(folder.path, name)

beforeAll(async () => {
  folder = await temporaryFolder()
  mkdirSync(inFolder('state'), { mode: 0o700 })
  mkdirSync(inFolder('function'))
  writeFileSync(inFolder('function/index.js'), 'export default {}')
  writeFileSync(inFolder('token'), 'token')
  writeFileSync(inFolder('image.tar'), 'x')
  writeFileSync(
    inFolder('track.nmea'),
    '$GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,*76\r\n$GPRMC,092750.000,A,5321.6802,N,00630.3372,W,0.02,31.66,280511,,,A*43\r\n',
  )
  const answered = (method: string) => play(method)
  for (const name of ['runtime', 'admin'])
    recorders.push(
      await startRecorder({
        at: inFolder(`state/${name}.sock`),
        play: answered,
        answer(request, response) {
          if (!request.url?.startsWith('/mcm/')) return false
          const line = JSON.stringify({ time: '2026-01-01T00:00:00.000Z', stream: 'stdout', text: attack })
          response.end(request.url.includes('/logs') ? `${line}\n` : JSON.stringify({ id: attack }))
          return true
        },
      }),
    )
  calls = everyCall({
    folder: folder.path,
    secret: 'secret-of-the-person',
    tokenFile: inFolder('token'),
    developerTokenFile: inFolder('token'),
  }).filter(({ title }) => !title.includes('--') && title !== 'simulate')
})
afterAll(async () => {
  for (const each of recorders) await each.close()
  await folder.remove()
})

const run = ({ args, lasts }: Pick<Call, 'args' | 'lasts'>, ...more: string[]): Promise<Ran> =>
  runHere(folder.path, [...args, ...more], {
    env: {
      HOME: inFolder('home'),
      SELVEDGE_STATE: inFolder('state'),
      SELVEDGE_ACCESS_TOKEN: 'token',
      // Nothing listens there: the commands that ask it show its refusal.
      SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:9',
      SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
    },
    untilShown: lasts ? 'deployed' : undefined,
  })

function expectClean(title: string, { out, errors }: Ran): void {
  for (const text of [out, errors]) {
    expect({ title, found: forbidden.exec(text)?.[0] }).toEqual({ title, found: undefined })
    expect({ title, forged: /^FORGED/m.test(text) }).toEqual({ title, forged: false })
  }
}

describe('text of another machine never controls the terminal', () => {
  it('in the result of any command', everyCommand, async () => {
    play = resultOf
    let shown = 0
    for (const call of calls) {
      const ran = await run(call)
      expectClean(call.title, ran)
      if (ran.out.includes('FORGED')) shown++
    }
    // The attack did arrive: most commands show it, made harmless.
    expect(shown).toBeGreaterThan(15)
  })

  it('in the JSON of any command, whose value is unchanged', everyCommand, async () => {
    play = resultOf
    let shown = 0
    for (const call of calls.filter(({ lasts }) => !lasts)) {
      const ran = await run(call, '--json')
      expectClean(call.title, ran)
      if (ran.out === '' || /^(?:container )?logs$/.test(call.title)) continue
      if (JSON.stringify(JSON.parse(ran.out)).includes(JSON.stringify(attack).slice(1, -1))) shown++
    }
    expect(shown).toBeGreaterThan(15)
  })

  it('in the refusal of any command, and no line of it passes for a hint', everyCommand, async () => {
    play = () => refusal
    for (const call of calls) expectClean(call.title, await run(call))
  })
})

describe('a call that --verbose shows', () => {
  const secrets = [
    ['call', 'updateGps', 'secret-of-the-person', '1', '2', '3', '4'],
    ['call', 'noSuchMethod', 'secret-of-the-person'],
    ['call', 'associateAccount', '{"edgeAccessToken":"secret-of-the-person"}'],
    ['call', 'x', '{"deep":[{"clientSecret":"secret-of-the-person"}]}'],
    ['hmac', 'verify', 'secret-of-the-person', '--uri', '/x'],
    ['container', 'deploy', '--name', 'x', '--image', 'y', '--env', 'PASSWORD=secret-of-the-person'],
  ]
  it.each(secrets.map((args) => ({ args })))('holds nothing secret: $args', async ({ args }) => {
    play = resultOf
    const { errors } = await run({ args, lasts: false }, '-v')
    expect(errors).toMatch(/^curl /m)
    expect(errors).not.toContain('secret-of-the-person')
  })
})
