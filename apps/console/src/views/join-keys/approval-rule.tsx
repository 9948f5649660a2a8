import { api } from '../../api.ts'
import { Refusal, useAction } from '../../parts/action.tsx'
import { Card } from '../../parts/view.tsx'
import type { Call } from '../../state/use-call.ts'

/** The rule of the account for all its keys; it applies at once. */
export function ApprovalRule({ rules: { data, set } }: { rules: Call<{ approve: boolean }> }) {
  const { busy, error, act } = useAction()
  return (
    <Card title="Approval">
      <label class="check">
        <input
          type="checkbox"
          checked={data?.approve}
          disabled={busy}
          onChange={({ currentTarget }) => {
            const approve = currentTarget.checked
            // What the server states is shown, be it the value from before.
            currentTarget.checked = !approve
            void act(async () => {
              const changed = await api['join.set_rules']({ approve })
              set(() => changed)
            })
          }}
        />
        <span>
          Every device waits until an owner approves it
          <small class="id">By any key of the account, also where the key itself needs no approval.</small>
        </span>
      </label>
      {error && <Refusal text={error} />}
    </Card>
  )
}
