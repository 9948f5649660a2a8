/**
 * A client of Kafka that the registry has runs in a function as it is. The broker is that of librdkafka, in the process of kcat: an implementation of the
 * protocol in C, with its messages in memory. kcat reads the same topic, so that messages of the function arrive at another client.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const folder = join(root, 'tests/system/services/npm-packages')

describe('kafkajs in a function', needs('npm packages', 'kcat'), () => {
  let services: Services
  let broker: ChildProcess
  const read: string[] = []

  /** @returns the port of a broker on the loopback */
  async function startBroker(): Promise<string> {
    const options = ['-X', 'test.mock.num.brokers=1', '-X', 'debug=mock']
    broker = spawn('kcat', ['-C', '-u', '-b', 'unused', ...options, '-f', '%k %S\n', '-t', 'meter'])
    createInterface(broker.stdout!).on('line', (line) => read.push(line))
    const lines = createInterface(broker.stderr!)
    return new Promise((resolve, reject) => {
      broker.on('exit', (code) => reject(new Error(`kcat exited with ${code}`)))
      lines.on('line', (line) => {
        const [, port] = /bootstrap\.servers=127\.0\.0\.1:(\d+)/.exec(line) ?? []
        if (port !== undefined) resolve(port)
      })
    })
  }

  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(async () => {
    broker?.kill('SIGKILL')
    await services.stop()
  })

  it('sends messages, and reads them as a member of a group', async () => {
    const port = await startBroker()
    const name = 'kafkajs'
    const { archive } = await packFolder(join(folder, 'functions', name), { name })
    const { id: image } = await services.deployImage(archive)
    const env = {
      'MCM.OUTBOUND': `127.0.0.1:${port}`,
      'MCM.ACCESS': 'public',
      HOST: '127.0.0.1',
      KAFKA: port,
    }
    const { basePath, id } = await services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec: { name, image, env } })
    const { text } = await services.call(basePath)
    const { lines } = await services
      .runtime()
      .getContainerLogs({ edgeAccessToken: services.token, id, tail: 20 })
    expect(text, lines.map((each) => each.text).join('\n')).toMatch(/^\[/)
    expect(JSON.parse(text)).toEqual(['a 5', 'b 100000', 'c 4 kWh'])
    await expect.poll(() => read.toSorted()).toEqual(['a 5', 'b 100000', 'c 4'])
  })
})
