/** What a member of an app does while the app is deployed, for people. */
import type { TopicData } from '@selvedge/protocol'
import { paceOf, progressBar } from './progress.ts'

export type MemberProgress = TopicData<'apps'>[number]['members'][number]

/** @returns such as `db: healthy`, or `web: waiting for db` */
export function describeMember({ service, state, waitingFor, pull, why }: MemberProgress): string {
  const more = [
    ...(waitingFor.length > 0 ? [`for ${waitingFor.join(', ')}`] : []),
    ...(pull
      ? [pull.totalBytes === null ? '' : progressBar(pull.receivedBytes, pull.totalBytes), paceOf(pull)]
      : []),
  ].filter((each) => each !== '')
  return `${[`${service}: ${state}`, ...more].join(' ')}${why === null ? '' : `: ${why}`}`
}
