import { Link } from '@tanstack/react-router';
import { Field } from '../../components/Field';
import { formatBytes, formatParameters } from '../../components/format';
import { Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { canLearn } from './draft';
import { fieldProps, type PartProps } from './problems';

export function ModelPart({ draft, set, resolved, library, problemAt }: PartProps) {
  return (
    <Section
      title="Model"
      actions={
        <Link to="/models" className="link">
          Add a model
        </Link>
      }
    >
      <Field label="Base model" help={resolved.model?.description} {...fieldProps(problemAt, 'model')}>
        {(ids) => (
          <Select
            {...ids}
            value={resolved.model?.id ?? draft.model}
            placeholder="Choose a model"
            options={library.models.map((model) => ({
              value: model.id,
              label: model.name,
              disabled: model.state !== 'ready' || !canLearn(model, resolved.algorithm),
              note:
                model.state === 'ready' && !canLearn(model, resolved.algorithm)
                  ? 'a reward model: it scores texts and cannot write them'
                  : model.state === 'ready'
                    ? `${model.family ?? 'unknown family'}, ${formatParameters(model.parameters)} parameters, ${formatBytes(model.bytes)}${model.source === 'added' ? `, ${model.path}` : ''}`
                    : model.reason,
            }))}
            onChange={(model) => set({ model })}
          />
        )}
      </Field>
    </Section>
  );
}
