import { setTimeout as sleep } from 'node:timers/promises'
import { describeState } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { noContainer } from '../../context/service-access.ts'
import { UsageError } from '../../failure.ts'

const pollIntervalMs = 200
const goals = ['running', 'healthy', 'stopped', 'failed'] as const

export const containerWait = command({
  path: ['container', 'wait'],
  summary: 'Wait until a container is in a state: running, healthy, stopped or failed.',
  args: [{ name: '<id>', description: 'id or name of the container' }],
  options: [
    { flags: '--for <state>', description: `${goals.join(', ')}; default running` },
    { flags: '--timeout <seconds>', description: 'timeout in seconds; default 60' },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [id = ''], options }) => {
    const goal = goals.find((each) => each === (options.for ?? 'running'))
    if (!goal)
      throw new UsageError(`--for is ${JSON.stringify(options.for)}`, `It is one of ${goals.join(', ')}.`)
    const seconds = Number(options.timeout ?? 60)
    if (!(seconds > 0))
      throw new UsageError(
        `--timeout is ${JSON.stringify(options.timeout)}, not a number of seconds`,
        'For example --timeout 30',
      )
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const started = performance.now()
    for (;;) {
      const found = (await context.runtime.getContainers({ edgeAccessToken })).find(
        (each) => each.id === id || each.name === id,
      )
      if (!found) throw noContainer(id, edgeAccessToken)
      if (goal === 'healthy' ? found.health === 'healthy' : found.state === goal) return found
      if (found.state === 'failed') throw new Error(`${id} has failed: ${found.reason}`)
      if (performance.now() - started > seconds * 1000)
        throw new Error(
          `${id} is ${found.state} (${describeState(found.state).meaning}), ${found.health}, after ${seconds} s, not ${goal}`,
        )
      await sleep(pollIntervalMs)
    }
  },
})
