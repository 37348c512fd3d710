import { Switch as Base } from '@base-ui/react/switch';
import styles from './Switch.module.css';

export function Switch({
  checked,
  onChange,
  ...ids
}: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  id?: string;
  'aria-describedby'?: string;
  'aria-label'?: string;
}) {
  return (
    <Base.Root {...ids} checked={checked} onCheckedChange={onChange} className={styles.root}>
      <Base.Thumb className={styles.thumb} />
    </Base.Root>
  );
}
