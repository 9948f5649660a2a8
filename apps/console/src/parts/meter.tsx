import './meter.css'

/** Share above which a meter is highlighted. */
const high = 0.8

/** @param share from 0 to 1; more is shown as full */
export function Meter({ label, share }: { label: string; share: number }) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100)
  return (
    <svg
      class={`meter ${share > high ? 'high' : ''}`}
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${percent} %`}
    >
      <rect class="all" width="100" height="4" />
      <rect class="used" width={percent} height="4" />
    </svg>
  )
}
