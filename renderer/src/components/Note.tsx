import styles from './Note.module.css';
import { Ticked } from './Ticked';

/** A quieter line or two below a name in a table; what is longer is told by the tooltip. */
export function Note({ text }: { text: string }) {
  return (
    <div className={styles.note} title={text.replaceAll('`', '')}>
      <Ticked text={text} />
    </div>
  );
}
