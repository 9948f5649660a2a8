/**
 * SIGKILL at random moments of a stream of calls: what was acknowledged is there afterwards, and the node is the same. The
 * process dies, the machine does not: `tests/system/powercut` cuts the power.
 */
import { cpSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { testLimitMs } from '../../harness/limits.ts'
import { type Program, startProgram, startStack, temporaryFolder } from '../../harness/processes.ts'
import { createChance } from '../../harness/seed.ts'

const rounds = Number(process.env.SELVEDGE_KILL_ROUNDS ?? 8)
const answerRounds = Math.ceil(rounds / 2)

it(
  `${rounds} kills lose nothing that was acknowledged`,
  async () => {
    const random = createChance()
    const stack = await startStack()
    const developers = await Promise.all([createDeveloper(stack.state), createDeveloper(stack.state)])
    const { nodeId } = await runtimeOf(stack).getMe()
    await stack.runtime.stop()
    const env = {
      SELVEDGE_STATE: stack.state,
      SELVEDGE_RUNTIME_PORT: '0',
      SELVEDGE_IDENTITY_URL: stack.identity.url,
      // Nobody there: this is about the disk of the device.
      SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
    }
    let calls = 0
    let acknowledged = { accountId: '', speed: -1 }
    let attempted = { accountId: [''], speed: -1 }
    let token = ''

    const stream = async (runtime: Program): Promise<void> => {
      const client = runtimeOf({ runtime })
      for (;;) {
        const me = await client.getMe()
        if (me.accountId === '' || random() < 0.03) {
          const developer = developers[Math.floor(random() * 2)]!
          if (me.accountId !== '') {
            attempted.accountId = [acknowledged.accountId, '']
            await client.unassociateAccount({ edgeAccessToken: token })
            acknowledged = { accountId: '', speed: -1 }
          }
          const fresh = await accessToken({ identity: stack.identity, runtime }, developer)
          attempted = { accountId: ['', developer.accountId], speed: -1 }
          token = fresh
          await client.associateAccount({ edgeAccessToken: token })
          acknowledged.accountId = developer.accountId
          attempted.accountId = [developer.accountId]
        }
        const speed = ++calls
        attempted.speed = speed
        await client.updateGps({
          edgeAccessToken: token,
          longitude: '1',
          latitude: '2',
          speed: String(speed),
          bearing: '0',
        })
        acknowledged.speed = speed
      }
    }

    for (let round = 1; round <= rounds; round++) {
      const runtime = await startProgram('runtime', env)
      const client = runtimeOf({ runtime })
      const me = await client.getMe()
      expect(me.nodeId, `round ${round}`).toBe(nodeId)
      expect(me.notices, `round ${round}`).toEqual([])
      expect(attempted.accountId, `round ${round}`).toContain(me.accountId)
      if (me.accountId === acknowledged.accountId && acknowledged.speed >= 0) {
        const fix = await client.getGps({ edgeAccessToken: token })
        expect(Number(fix.speed), `round ${round}`).toBeGreaterThanOrEqual(acknowledged.speed)
        expect(Number(fix.speed), `round ${round}`).toBeLessThanOrEqual(attempted.speed)
      }
      acknowledged = {
        accountId: me.accountId,
        speed: me.accountId === acknowledged.accountId ? acknowledged.speed : -1,
      }
      attempted.accountId = [me.accountId]
      let isStreaming = true
      const streaming = stream(runtime)
        .catch(() => undefined)
        .finally(() => {
          isStreaming = false
        })
      // At a random moment between two turns of so many calls.
      const killAt = calls + random() * 40
      while (isStreaming && calls < killAt) await sleep(1)
      await runtime.stop('SIGKILL')
      await streaming
    }
    const key = JSON.parse(readFileSync(join(stack.state, 'runtime/node-key.json'), 'utf8'))
    expect(key).toHaveProperty('signing')
    console.info(`${rounds} kills, ${calls} updates: nothing acknowledged was lost`)
    await stack.stop()
  },
  Math.max(testLimitMs, rounds * 10_000),
)

it('an account is there when the process is killed the moment the answer arrives', {
  timeout: Math.max(testLimitMs, answerRounds * 20_000),
}, async () => {
  const stack = await startStack()
  const developer = await createDeveloper(stack.state)
  const token = await accessToken(stack, developer)
  await stack.runtime.stop()
  for (let round = 0; round < answerRounds; round++) {
    const folder = await temporaryFolder()
    cpSync(join(stack.state, 'runtime'), join(folder.path, 'runtime'), { recursive: true })
    const env = {
      SELVEDGE_STATE: folder.path,
      SELVEDGE_RUNTIME_PORT: '0',
      SELVEDGE_IDENTITY_URL: stack.identity.url,
    }
    const first = await startProgram('runtime', env)
    await killOnAnswer(
      first,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'associateAccount', params: [token] }),
    )
    const second = await startProgram('runtime', env)
    expect((await runtimeOf({ runtime: second }).getMe()).accountId, `round ${round}`).toBe(
      developer.accountId,
    )
    await second.stop('SIGKILL')
    await folder.remove()
  }
  await stack.stop()
})

/** Sends one call on a bare socket, and kills the process on the first byte of the answer. */
function killOnAnswer(runtime: Program, body: string): Promise<void> {
  const { hostname, port, host } = new URL(runtime.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      const length = Buffer.byteLength(body)
      socket.write(
        `POST /jsonrpc/v1 HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
      )
    })
    socket.once('data', (chunk) => {
      runtime.expectEnd()
      runtime.process.kill('SIGKILL')
      if (chunk.includes('"accountId"')) runtime.process.once('exit', () => resolve())
      else reject(new Error(chunk.toString()))
    })
    socket.on('error', () => undefined)
  })
}
