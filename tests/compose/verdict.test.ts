/**
 * `selvedge compose check` and `deployApp` decide by the same rules: what one accepts the other accepts, and what one refuses the other
 * refuses, for a corpus of Compose files that both read.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPlan } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { readApp } from '../../apps/cli/src/compose/app.ts'
import { openCompose } from '../../apps/cli/src/compose/open-compose.ts'
import { createReport } from '../../apps/cli/src/compose/report.ts'
import { readMembers } from '../../apps/runtime/src/services/apps/members.ts'
import { inComposeFolder } from '../harness/check-compose.ts'
import { root } from '../harness/processes.ts'

interface Verdicts {
  /** Problems of the check, with their lines. */
  readonly check: readonly string[]
  /** What the reader of `deployApp` refuses first. */
  readonly deploy: string | undefined
}

const refusalOf = (plan: AppPlan): string | undefined => {
  try {
    readMembers(plan)
    return undefined
  } catch (cause) {
    return (cause as Error).message
  }
}

async function verdictsIn(cwd: string): Promise<Verdicts> {
  const report = createReport()
  const options = { cwd, paths: [], profiles: [], envFiles: [], env: {}, name: undefined }
  const plan = await readApp(await openCompose(options, report), options, report)
  const check = report.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)
  return { check, deploy: plan && refusalOf(plan) }
}

const verdicts = (services: string, files: Readonly<Record<string, string>> = {}): Promise<Verdicts> =>
  inComposeFolder({ ...files, 'compose.yaml': `name: shop\nservices:\n${services}` }, verdictsIn)
const one = (keys: string) => `  web:\n    image: x\n    ${keys}\n`

const public_ = readdirSync(join(root, 'tests/compose/apps'))
it.each(public_)('agree on the public file %s', async (name) => {
  const { check, deploy } = await verdictsIn(join(root, 'tests/compose/apps', name))
  // The check also refuses what no plan can have; then there is nothing to deploy.
  if (deploy !== undefined) expect(check).not.toEqual([])
  if (check.length === 0) expect(deploy).toBeUndefined()
})

describe('both accept', () => {
  it.each([
    'init: true',
    'init: false',
    'hostname: other',
    'restart: unless-stopped',
    'restart: "no"',
    'restart: on-failure:3',
    'restart: on-failure:3\n    ports: ["80:80", "1883:1883"]',
    'cap_drop: [ALL]',
    'cap_drop: [NET_RAW]\n    cap_add: [CHOWN]',
    'read_only: true',
    'volumes: ["/data"]',
    'user: "1000"',
  ])('%s', async (keys) => {
    expect(await verdicts(one(keys))).toEqual({ check: [], deploy: undefined })
  })

  it('configs, and a file beside the Compose file', async () => {
    const text = `${one('configs: [c, { source: c, target: /etc/c, mode: 0440, uid: "101" }]')}    volumes: ["./f:/etc/f:ro"]\nconfigs: { c: { content: x } }\n`
    expect(await verdicts(text, { f: 'text' })).toEqual({ check: [], deploy: undefined })
  })

  it('a volume that a service cannot write', async () => {
    const text = `${one('volumes: ["data:/data:ro"]')}volumes: { data: {} }\n`
    expect(await verdicts(text)).toEqual({ check: [], deploy: undefined })
  })
})

it.each(['', ', restart: "no"', ', restart: on-failure'])(
  'a service that others wait for until it has completed runs once, with %j',
  async (restart) => {
    const services = `  a: { image: x${restart} }\n  b:\n    image: x\n    depends_on:\n      a:\n        condition: service_completed_successfully\n`
    expect(await verdicts(services)).toEqual({ check: [], deploy: undefined })
  },
)

describe('both refuse, the check with the line', () => {
  it.each<[string, string, string]>([
    [
      'a path for what runs once',
      one('ports: ["80:80"]\n    restart: "no"'),
      '5 services.web.ports: With the restart "no" it runs once, and serves nothing',
    ],
    ['a port for what runs once', one('restart: "no"\n    ports: ["1883:1883"]'), '6 services.web.ports'],
    [
      'a wait for the health of what runs once',
      `  a: { image: x, restart: "no" }\n  b:\n    image: x\n    depends_on:\n      a:\n        condition: service_healthy\n`,
      'services.b.depends_on.a: b waits until a is healthy, which runs once',
    ],
    [
      'a config of the kernel',
      `${one('configs: [{ source: c, target: /proc/c }]')}configs: { c: { content: x } }\n`,
      '5 services.web.configs[0]: The file "/proc/c" cannot be replaced',
    ],
    [
      'a config above another one',
      `${one('configs: [{ source: c, target: /etc/c/d }, { source: c, target: /etc/c }]')}configs: { c: { content: x } }\n`,
      '5 services.web.configs[1]: The file "/etc/c" would be the folder of "/etc/c/d"',
    ],
    [
      'a volume in one that services share',
      `  a: { image: x, volumes: ["data:/d"] }\n  b:\n    image: x\n    volumes: ["/d/own", "data:/d"]\nvolumes: { data: {} }\n`,
      '6 services.b.volumes[1]: Services share the volume at "/d", and "/d/own" would be in it',
    ],
    [
      'a wait for the completion of a service',
      `  a: { image: x, restart: always }\n  b:\n    image: x\n    depends_on:\n      a:\n        condition: service_completed_successfully\n`,
      'services.b.depends_on.a: b waits until a has completed',
    ],
    [
      'a volume of the kernel',
      one('volumes: ["/proc/x"]'),
      '5 services.web.volumes[0]: The folder "/proc/x"',
    ],
    [
      'a volume in a folder in memory',
      `${one('tmpfs: [/d]')}    volumes: ["data:/d"]\nvolumes: { data: {} }\n`,
      '6 services.web.volumes[0]: The folder "/d" is a volume already, or in memory',
    ],
    ['memory at a folder of the kernel', one('tmpfs: ["/sys"]'), '5 services.web.tmpfs'],
    [
      'two services at one path',
      `  a: { image: x, labels: { dev.selvedge.base-path: /x } }\n  b:\n    image: x\n    environment: { MCM.BASE_API_PATH: /x }\n    ports: ["80:80"]\n`,
      '/x',
    ],
    [
      'a plan of too many bytes',
      Array.from(
        { length: 9 },
        (_, at) => `  s${at}: { image: x, environment: { X: "${'x'.repeat(30_000)}" } }\n`,
      ).join(''),
      'The plan has ',
    ],
  ])('%s', async (_, services, expected) => {
    const { check, deploy } = await verdicts(services, { f: 'x' })
    expect(check.join('\n')).toContain(expected)
    expect(deploy).toMatch(/^plan/)
  })
})
