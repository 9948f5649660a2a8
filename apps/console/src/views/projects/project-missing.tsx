import { Link } from '../../parts/link.tsx'
import { View } from '../../parts/view.tsx'

/** In the place of a project that the account does not have. */
export default function ProjectMissing() {
  return (
    <View title="Project not found" parent={['/projects', 'Projects']} about="It may have been deleted.">
      <div>
        <Link to="/projects" class="btn">
          All projects
        </Link>
      </div>
    </View>
  )
}
