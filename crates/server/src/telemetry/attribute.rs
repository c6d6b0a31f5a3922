//! Attributes as OTLP has them.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// A name and what it is.
pub(super) fn attribute(key: &str, value: impl IntoValue) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value.into_value()) }), ..KeyValue::default() }
}

/// What can be the value of an attribute.
pub(super) trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for &str {
    fn into_value(self) -> Value {
        Value::StringValue(self.into())
    }
}

impl IntoValue for String {
    fn into_value(self) -> Value {
        Value::StringValue(self)
    }
}

impl IntoValue for u64 {
    fn into_value(self) -> Value {
        Value::IntValue(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

impl IntoValue for i64 {
    fn into_value(self) -> Value {
        Value::IntValue(self)
    }
}

impl IntoValue for bool {
    fn into_value(self) -> Value {
        Value::BoolValue(self)
    }
}

impl IntoValue for &[&str] {
    fn into_value(self) -> Value {
        let values = self.iter().map(|text| AnyValue { value: Some(text.into_value()) });
        Value::ArrayValue(ArrayValue { values: values.collect() })
    }
}
