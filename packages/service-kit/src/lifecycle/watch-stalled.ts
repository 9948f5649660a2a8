import type { Log } from '../log/index.ts'
import { safely } from '../safely/safely.ts'
import type { Workload } from '../work/workload.ts'
import type { OwnReadiness } from './readiness.ts'

const checkMs = 2000

/**
 * Makes a daemon unready while one of its routes or methods completes no request and refuses new ones, so that a load balancer sends its
 * requests elsewhere. The log names it.
 *
 * @returns what ends the checks; they do not keep the process alive
 */
export function watchStalled(
  workload: Pick<Workload, 'stalled'>,
  readiness: OwnReadiness,
  log: Log,
): () => void {
  readiness.onStalled((names) => {
    if (names.length > 0) log.error('requests are not answered', { stalled: names })
    else log.info('all requests are answered again')
  })
  const check = safely('work.stalled', () => readiness.setStalled(workload.stalled()))
  const timer = setInterval(check, checkMs).unref()
  return () => clearInterval(timer)
}
