import { Link } from '../parts/link.tsx'
import { View } from '../parts/view.tsx'
import './not-found.css'

/** A thread that frays. */
const Fray = () => (
  <svg class="fray" viewBox="0 0 160 44" aria-hidden="true">
    <path d="M2 22h84c16 0 18-12 34-13M86 22c18 0 26 1 46 3M86 22c14 0 16 13 30 15" />
  </svg>
)

export default function NotFoundView() {
  return (
    <div class="empty">
      <Fray />
      <View title="This thread ends here">
        <p>There is no page at this address. It may have been renamed or deleted.</p>
        <Link to="/devices" class="btn primary">
          Go to devices
        </Link>
      </View>
    </div>
  )
}
