import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Time } from '../parts/time.tsx'
import { Scroll, View } from '../parts/view.tsx'
import { signedFetch } from '../session/request.ts'
import { useCall } from '../state/use-call.ts'

const pageSize = 100

/** Not a link, because a browser does not sign requests that it makes by itself. */
async function download(): Promise<void> {
  const response = await signedFetch('/console/audit.jsonl')
  if (!response.ok)
    throw new Error(`The audit log could not be downloaded (HTTP ${response.status}). Try again.`)
  const url = URL.createObjectURL(await response.blob())
  const link = Object.assign(document.createElement('a'), { href: url, download: 'selvedge-audit.jsonl' })
  link.click()
  URL.revokeObjectURL(url)
}

export function AuditView() {
  const { data, error, set } = useCall(() => api['audit.list']({ before: null }))
  const [isWhole, setWhole] = useState(false)
  return (
    <View title="Audit log" error={error}>
      <p>
        Who did what in this account, from which address, and the result.{' '}
        <Action kind="quiet" run={download}>
          Download the whole log as JSON lines
        </Action>
      </p>
      <div class="card">
        <Scroll label="Entries of the audit log">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>Who</th>
                <th>What</th>
                <th>To what</th>
                <th>From</th>
                <th>Outcome</th>
              </tr>
            </thead>
            <tbody>
              {data?.map(({ id, at, actor, action, subject, address, outcome, detail }) => (
                <tr key={id}>
                  <td>
                    <Time of={at} />
                  </td>
                  <td>{actor}</td>
                  <td>{action.replaceAll(/[._]/g, ' ')}</td>
                  <td>
                    {detail} {subject && <code class="short">{subject}</code>}
                  </td>
                  <td>{address || 'this service'}</td>
                  <td>
                    <span class={`chip ${outcome === 'ok' ? 'online' : 'blocked'}`}>{outcome}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </div>
      {data && data.length >= pageSize && !isWhole && (
        <Action
          run={async () => {
            const more = await api['audit.list']({ before: data.at(-1)!.id })
            set((before) => [...before, ...more])
            if (more.length < pageSize) setWhole(true)
          }}
        >
          Show older entries
        </Action>
      )}
    </View>
  )
}
