/**
 * A device on bad networks: its own API answers while the condition holds, and it is back in touch with its services once the network
 * works again. How long that needs is printed: docs/offline.md has the table.
 */
import { execFile } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRuntimeClient, type RuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { makeAuthority } from '../../harness/authority.ts'
import { createDeveloper, type Developer } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { stepLimitMs, testLimitMs } from '../../harness/limits.ts'
import { type Program, root, startProgram, temporaryFolder } from '../../harness/processes.ts'
import {
  type BadNetworks,
  cloudAddresses,
  cloudName,
  type DeviceNetwork,
  makeBadNetworks,
  translatedAddress,
} from './bad-networks.ts'

/** What the condition of one device may change. */
interface Subject {
  readonly network: DeviceNetwork
  /** Sets the clock of the device ahead, or back, by a text of faketime such as `-10y`. */
  setClock(text: string): void
}

interface Condition {
  readonly name: string
  /** Whether the runtime starts while it holds; otherwise it runs, with connections that were open before. */
  readonly atStart?: boolean
  /** Until so many packets were dropped: the pauses between attempts have grown by then. */
  readonly holds?: number
  /** Before the device is there. */
  prepare?(subject: Subject): Promise<unknown>
  begin(subject: Subject): unknown
  /** Absent: the device has to get along with it. */
  end?(subject: Subject): unknown
  /** Why a service is not reachable meanwhile, as `selvedge status` shows it. */
  readonly why?: RegExp
  /** The notice of `selvedge status` meanwhile; absent: there is no notice of the network. */
  readonly notice?: 'network_unusable'
  /** Further reports that have to arrive while it lasts. */
  readonly reports?: number
}

const noAnswer = /^https:\/\/cloud\.example(:8443)? did not answer within 4000 ms$/

const drops = {
  begin: ({ network }: Subject) => network.filter('counter drop'),
  end: ({ network }: Subject) => network.filter(undefined),
  why: noAnswer,
}
const right = Object.values(cloudAddresses)
let cable: { set(delay: number, loss: number): void }

const conditions: readonly Condition[] = [
  { name: 'packets are dropped, with open connections', ...drops },
  { name: 'packets are dropped for long, from the start', atStart: true, holds: 150, ...drops },
  {
    name: 'the address of the device changes in mid-request',
    begin: ({ network }) => network.filter('counter drop'),
    end({ network }) {
      network.renumber()
      network.filter(undefined)
    },
    why: noAnswer,
  },
  {
    name: 'the network changes to IPv6 only',
    prepare: async ({ network }) => network.answer([cloudAddresses.ipv4]),
    begin({ network }) {
      network.ip('-4', 'addr', 'flush', 'scope', 'global')
      network.answer(right)
    },
  },
  {
    name: 'IPv6 is dropped, at the start',
    atStart: true,
    begin: ({ network }) => network.filter('meta nfproto ipv6 drop'),
  },
  {
    name: 'the network changes to IPv4 only, and drops IPv6',
    begin: ({ network }) => network.filter('meta nfproto ipv6 drop'),
  },
  {
    name: 'the network changes to IPv6 with NAT64',
    prepare: ({ network }) => network.translate(),
    begin({ network }) {
      network.ip('-4', 'addr', 'flush', 'scope', 'global')
      network.filter(`ip6 daddr ${cloudAddresses.ipv6} drop`)
      network.answer([translatedAddress])
    },
  },
  {
    name: 'the name server answers after 20 s',
    atStart: true,
    begin: ({ network }) => network.answer(right, 20),
    end: ({ network }) => network.answer(right),
    why: /did not answer within 4000 ms|EAI_AGAIN/,
  },
  {
    name: 'the name server lies',
    atStart: true,
    begin: ({ network }) => network.answer(['127.0.0.1', '10.78.2.99']),
    end: ({ network }) => network.answer(right),
    why: /ECONNREFUSED|EHOSTUNREACH/,
  },
  {
    name: 'packets of more than 600 bytes are dropped',
    atStart: true,
    begin: ({ network }) => network.filter('meta length > 600 drop'),
    end: ({ network }) => network.filter(undefined),
    why: noAnswer,
  },
  {
    name: 'the clock shows 2019',
    atStart: true,
    begin: ({ setClock }) => setClock('@2019-06-01 00:00:00'),
    end: ({ setClock }) => setClock('+0'),
    why: /certificate of cloud\.example is not valid before .*, and the clock here shows 2019-06-01/,
    notice: 'network_unusable',
  },
  {
    name: 'packets need 1 s each way, and 30 % are lost',
    async prepare({ network }) {
      cable = await network.lengthen(0, 0)
    },
    begin: () => cable.set(1, 0.3),
    reports: 3,
  },
]

const issuer = `https://${cloudName}`
/** Twelve devices are asked at the same time, and what they wait for needs seconds. */
const seldom = { interval: 250 }
const somewhere = { longitude: '1', latitude: '2', speed: '3', bearing: '4' }

describe.concurrent(
  'on bad networks',
  needs('networks', 'nft', 'openssl', 'python3', 'faketime', 'tayga'),
  () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let networks: BadNetworks
    let developer: Developer
    const programs: Program[] = []
    const measured: string[] = []
    const at = (name: string) => join(folder.path, name)

    beforeAll(async () => {
      folder = await temporaryFolder()
      const { cert, key } = makeAuthority(folder.path, 'authority').issue(cloudName)
      writeFileSync(at('server.crt'), cert)
      writeFileSync(at('server.key'), key)
      networks = await makeBadNetworks(conditions.length, folder.path)
      const start = async (name: 'identity' | 'discovery', ...args: string[]) =>
        programs.push(
          await startProgram(name, { SELVEDGE_STATE: at(name) }, args, { space: networks.cloudSpace }),
        )
      await start('identity', `--issuer=${issuer}`, '--listen.port=8084')
      await start(
        'discovery',
        ...[`--identity.url=${issuer}`, `--network.caFile=${at('authority.pem')}`],
        ...[`--url=${issuer}:8443`, '--listen.port=8085'],
      )
      developer = await createDeveloper(at('identity'))
      writeFileSync(at('developer'), developer.idToken, { mode: 0o600 })
    })
    afterAll(async () => {
      await Promise.all(programs.map((each) => each.stop()))
      networks?.remove()
      await folder?.remove()
      process.stdout.write(`${measured.sort().join('\n')}\n`)
    })

    function openDevice(number: number) {
      const state = at(`device${number}`)
      const network = networks.devices[number]!
      const clock = at(`clock${number}`)
      writeFileSync(clock, '+0')
      const fetch = createNodeFetch({ socketPath: join(state, 'runtime.sock') })
      const runtime = createRuntimeClient({ url: 'http://localhost', fetch, timeoutMs: stepLimitMs })
      const urls = { SELVEDGE_IDENTITY_URL: issuer, SELVEDGE_DISCOVERY_URL: `${issuer}:8443` }
      const faked = {
        ...{
          LD_PRELOAD: globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]!,
          FAKETIME_TIMESTAMP_FILE: clock,
          FAKETIME_NO_CACHE: '1',
        },
        ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' },
      }
      return {
        network,
        runtime,
        setClock: (text: string) => writeFileSync(clock, text),
        async start(hasFakedClock: boolean): Promise<Program> {
          const env = { SELVEDGE_STATE: state, ...urls, ...(hasFakedClock && faked) }
          const args = ['--listen.port=0', `--network.caFile=${at('authority.pem')}`]
          const program = await startProgram('runtime', env, args, { space: network.space })
          programs.push(program)
          return program
        },
        async cli(url: string, ...args: string[]): Promise<string> {
          const command = [process.execPath, join(root, 'apps/cli/bin/selvedge.js'), ...args]
          const signed = ['--developer-token-file', at('developer'), '--client-id', developer.clientId]
          const { stdout } = await promisify(execFile)(
            'ip',
            ['netns', 'exec', network.space, ...command, ...signed],
            {
              env: {
                ...{ PATH: process.env.PATH, HOME: state, SELVEDGE_CA_FILE: at('authority.pem'), ...urls },
                SELVEDGE_RUNTIME_URL: url,
              },
            },
          )
          return stdout
        },
      }
    }

    /** Calls the API in many ways. @returns milliseconds of the slowest call that needs nothing from outside */
    async function callLocally(runtime: RuntimeClient, edgeAccessToken: string): Promise<number> {
      let slowest = 0
      for (let round = 0; round < 5; round++) {
        for (const call of [
          () => runtime.getMe(),
          () => runtime.getGps({ edgeAccessToken }),
          () => runtime.getContainers({ edgeAccessToken }),
        ]) {
          const begun = performance.now()
          await call()
          slowest = Math.max(slowest, performance.now() - begun)
        }
      }
      return slowest
    }

    it.for(conditions.map((condition, number) => [condition.name, number, condition] as const))(
      '%s',
      async ([name, number, { atStart = false, holds = 0, reports = 0, prepare, begin, end, why, notice }], {
        expect,
      }) => {
        const device = openDevice(number)
        const { runtime } = device
        await prepare?.(device)
        const program = await device.start(false)
        await device.cli(program.url, 'account', 'associate')
        const scope = 'openid edge:mcm edge:clusters'
        const answer = await device.cli(program.url, 'token', 'access', '--scope', scope, '--json')
        const edgeAccessToken: string = JSON.parse(answer).access_token
        const report = () => runtime.updateGps({ edgeAccessToken, ...somewhere })
        const state = async () => {
          const { identity, discovery } = (await runtime.getMe()).network
          const { published } = await runtime.getGps({ edgeAccessToken })
          return { published, identity, discovery }
        }
        /** What `selvedge status` shows of the network while it is bad. */
        const shown = async () => {
          const { network, notices } = await runtime.getMe()
          const away = [network.identity, network.discovery].find(({ reachable }) => reachable === false)
          const ofNetwork = notices.filter(({ reason }) => reason === 'network_unusable')
          return { why: away?.lastError ?? '', notices: ofNetwork.map(({ reason: of }) => of) }
        }
        const inTouch = { published: true, identity: { reachable: true }, discovery: { reachable: true } }
        await report()
        await expect.poll(state, seldom).toMatchObject(inTouch)

        if (atStart) await program.stop()
        await begin(device)
        const begun = performance.now()
        if (atStart) await device.start(true)
        const startedMs = performance.now() - begun
        const reported = report()
        let slowestMs = await callLocally(runtime, edgeAccessToken)
        if (end) {
          await reported
          slowestMs = Math.max(slowestMs, await callLocally(runtime, edgeAccessToken))
          await expect.poll(shown, seldom).toMatchObject({ why: expect.stringMatching(why!) })
          const { notices } = await shown()
          expect(notices).toEqual(notice ? [notice] : [])
          if (holds > 0) await expect.poll(device.network.dropped, seldom).toBeGreaterThanOrEqual(holds)
          await end(device)
        }
        const ended = end ? performance.now() : begun
        await expect.poll(state, { ...seldom, timeout: testLimitMs }).toMatchObject(inTouch)
        const seconds = (performance.now() - ended) / 1000
        measured.push(
          `${name}: back in touch after ${seconds.toFixed(1)} s; slowest local call ${slowestMs.toFixed(0)} ms${atStart ? `; start ${startedMs.toFixed(0)} ms` : ''}`,
        )
        for (let at = 1; at <= reports; at++) {
          const sentAt = performance.now()
          await report()
          await expect.poll(state, seldom).toMatchObject(inTouch)
          slowestMs = Math.max(slowestMs, await callLocally(runtime, edgeAccessToken))
          measured.push(`${name}: report ${at} after ${((performance.now() - sentAt) / 1000).toFixed(1)} s`)
        }
        expect((await runtime.getMe()).accountId).toBe(developer.accountId)
      },
    )
  },
)
