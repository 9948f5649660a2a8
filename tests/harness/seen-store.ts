import { readMetrics } from './read-metrics.ts'

/** What a load balancer and Prometheus see of a service. @param socketPath its `metrics.listen` */
export async function seenStore(url: string, socketPath: string): Promise<object> {
  const answer = await fetch(`${url}/readyz`)
  const body = (await answer.json()) as object
  const [, isWritable] = /^selvedge_store_writable (\d)$/m.exec(await readMetrics(socketPath))!
  return { code: answer.status, ...body, isWritable }
}

export const onlyReads = {
  ...{ code: 200, status: 'degraded', degraded: ['store_not_writable'] },
  isWritable: '0',
}
export const writes = { code: 200, status: 'ok', isWritable: '1' }
