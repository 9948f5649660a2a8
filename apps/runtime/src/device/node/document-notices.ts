import type { NoticeReason } from '@selvedge/protocol'
import type { DocumentNotice } from '@selvedge/service-kit/store'
import type { Notices } from './notices.ts'

/** What `getMe` shows of a document that was replaced by an empty one. */
const resetReasons = {
  state: 'state_damaged',
  deployments: 'deployments_damaged',
  revocations: 'revocations_damaged',
  leases: 'leases_damaged',
  secrets: 'secrets_damaged',
  heldPaths: 'held_paths_damaged',
  schedules: 'schedules_damaged',
  apps: 'apps_damaged',
} as const satisfies Record<string, NoticeReason>

/** Shows damage of the runtime's documents; the log lines have the names of the files. */
export function raiseDocumentNotices(
  notices: Notices,
  documents: Record<keyof typeof resetReasons, { readonly notices: readonly DocumentNotice[] }>,
): void {
  const rolledBack: string[] = []
  for (const [name, reason] of Object.entries(resetReasons)) {
    for (const { kind, detail } of documents[name as keyof typeof resetReasons].notices) {
      if (kind === 'reset') notices.raise(reason, { detail })
      else rolledBack.push(detail)
    }
  }
  if (rolledBack.length > 0) notices.raise('state_rolled_back', { details: rolledBack })
}
