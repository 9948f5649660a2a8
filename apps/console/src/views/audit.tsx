import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Time } from '../parts/time.tsx'
import { Scroll, View } from '../parts/view.tsx'
import { useCall } from '../state/use-call.ts'

const pageSize = 100

export function AuditView() {
  const { data, error, set } = useCall(() => api['audit.list']({ before: null }))
  const [isWhole, setWhole] = useState(false)
  return (
    <View title="Audit log" error={error}>
      <p>
        Who did what in this account, from where, and how it ended.{' '}
        <a href="/console/audit.jsonl">Take it all as JSON lines</a>
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
                  <td>{address || 'the machine itself'}</td>
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
          Show older ones
        </Action>
      )}
    </View>
  )
}
